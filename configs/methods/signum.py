# Signum with majority vote: Bernstein et al. 2018 (arXiv:1802.04434), Algorithm 2: m_k <- beta * m_k + (1 - beta) * u_k; w <- w + rate * sign(sum of sign(m_k)).
# Differs: an update of local steps stands for the paper's gradient.
# For: compression.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="share of the last direction that is kept (β)")
m_k = fh.memory("m_k", of="client")
vote = fh.memory("vote", of="visit", up=True)


@fh.end
def end(u, m_k):
    m_next = beta * m_k + (1 - beta) * u
    return {m_k: m_next, vote: fh.sign(m_next)}


@fh.server
def server(w, k, server_lr):
    return w + server_lr * fh.sign(fh.sum(k.vote))
