# SCAFFOLD: Karimireddy et al. 2020 (arXiv:1910.06378), Algorithm 1 with option II: g + c - c_k; c_k <- c_k - c + (w_t - w_k) / (K * lr).
# For: optimisation.
import fedhive as fh

c = fh.memory("c", of="server", down=True)
c_k = fh.memory("c_k", of="client")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, c, c_k):
    return g + c - c_k


@fh.end
def end(w, w_t, c, c_k, steps, lr):
    change = (w_t - w) / (steps * lr) - c
    return {d: change, c_k: c_k + change}


@fh.server
def server(w, c, k, server_lr, clients):
    return {"w": w + server_lr * fh.mean(k.u), c: c + fh.sum(k.d) / clients}
