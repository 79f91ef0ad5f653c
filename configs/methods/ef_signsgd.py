# EF-SignSGD: Karimireddy et al. 2019 (arXiv:1901.09847), Algorithm 1: p = u_k + e_k; |p|_1 / P * sign(p) comes up, e_k <- p less this.
# Differs: an update of local steps stands for the paper's gradient.
# For: compression.
import fedhive as fh

e_k = fh.memory("e_k", of="client")
sent = fh.memory("sent", of="visit", up=True)


@fh.end
def end(u, e_k):
    p = u + e_k
    signs = fh.mean(fh.abs(p)) * fh.sign(p)
    return {sent: signs, e_k: p - signs}


@fh.server
def server(w, k, server_lr):
    return w + server_lr * fh.mean(k.sent)
