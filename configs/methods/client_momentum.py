# Client momentum: Karimireddy, He and Jaggi 2021 (arXiv:2012.10333): m_k <- (1 - beta) * u_k + beta * m_k; clients send m_k.
# Differs: an update of local steps stands for the paper's gradient. The run's aggregator takes the m_k as it would take updates.
# For: robust.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="share of the last direction that is kept (β)")
m_k = fh.memory("m_k", of="client")
sent = fh.memory("sent", of="visit", up=True)


@fh.end
def end(u, m_k):
    m_next = (1 - beta) * u + beta * m_k
    return {m_k: m_next, sent: m_next}


@fh.server
def server(w, sent, server_lr):
    return w + server_lr * sent
