# ICEADMM: Zhou and Li 2021 (arXiv:2110.15318): f_k(z) + <y_k, w - z> + rho/2 * |w - z|^2, with a step of the dual after each local step:
# y_k <- y_k + rho * (w - z_k). The server takes the mean of z_k - y_k / rho. A client goes on from its own z_k and y_k.
# Differs: local steps have the run's rate; the paper's step is 1 / (rho + zeta). For plain SGD. All clients should take part, as there.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 20.0, above=0, doc="pull to the model that was sent (ρ), about 1 / lr; far below, the dual runs away")
y_k = fh.memory("y_k", of="client")
z_k = fh.memory("z_k", of="client", first="w_t")
d = fh.memory("d", of="visit", up=True)


@fh.start
def start(z_k):
    return z_k


@fh.gradient
def gradient(g, w, w_t, lr, y_k):
    full = g - y_k + rho * (w - w_t)
    return {"g": full, y_k: y_k + rho * (w_t - (w - lr * full))}


@fh.end
def end(w, u, y_k):
    return {d: u - y_k / rho, z_k: w}


@fh.server
def server(w, k):
    return w + fh.mean(k.d)
