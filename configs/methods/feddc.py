# FedDC: Gao et al. 2022 (arXiv:2203.11751).
# F_k(w) + alpha/2 * |w - w_t + h_k|^2 + <w, c - c_k>; h_k <- h_k + u_k; c_k as in SCAFFOLD; w <- mean of w_k + mean of all h_j.
# Differs: local steps stand in for the argmin.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 0.01, least=0, doc="pull to the drifted model (α)")
h_k = fh.memory("h_k", of="client")
c_k = fh.memory("c_k", of="client")
c = fh.memory("c", of="server", down=True)
h = fh.memory("h", of="server")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, w, w_t, h_k, c, c_k):
    return g + alpha * (w - w_t + h_k) + c - c_k


@fh.end
def end(u, h_k, c, c_k, steps, lr):
    change = -u / (steps * lr) - c
    return {d: change, c_k: c_k + change, h_k: h_k + u}


@fh.server
def server(w, h, c, k, clients):
    h_next = h + fh.sum(k.u) / clients
    return {"w": w + fh.mean(k.u) + h_next, h: h_next, c: c + fh.sum(k.d) / clients}
