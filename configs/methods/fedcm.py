# FedCM: Xu et al. 2021 (arXiv:2106.10874).
# A local step goes along alpha * g + (1 - alpha) * D, D the mean of (w_t - w_k) / (K * lr) in the last round.
# Differs: the server steps by server_lr * mean of u_k; the paper's rate is server_lr * K * lr.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 0.1, above=0, most=1, doc="share of the client's own gradient (α)")
D = fh.memory("D", of="server", down=True)
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, D):
    return alpha * g + (1 - alpha) * D


@fh.end
def end(w, w_t, steps, lr):
    return {d: (w_t - w) / (steps * lr)}


@fh.server
def server(w, k, server_lr):
    return {"w": w + server_lr * fh.mean(k.u), D: fh.mean(k.d)}
