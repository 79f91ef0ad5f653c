# IIADMM: Ryu and Kim 2022 (arXiv:2202.03672): f_k(z) + <y_k, w - z> + rho/2 * |w - z|^2, then y_k <- y_k + rho * (w - z_k).
# The server takes the mean of z_k - y_k / rho. A client goes on from its own z_k, and its dual y_k follows from what it sends.
# Differs: local steps have the run's optimiser; the paper's step is 1 / (rho + zeta). All clients should take part, as there.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 1.0, above=0, doc="pull to the model that was sent (ρ)")
y_k = fh.memory("y_k", of="client")
z_k = fh.memory("z_k", of="client", first="w_t")
d = fh.memory("d", of="visit", up=True)


@fh.start
def start(z_k):
    return z_k


@fh.gradient
def gradient(g, w, w_t, y_k):
    return g - y_k + rho * (w - w_t)


@fh.end
def end(w, w_t, u, y_k):
    y_next = y_k - rho * u
    return {d: u - y_next / rho, y_k: y_next, z_k: w}


@fh.server
def server(w, k):
    return w + fh.mean(k.d)
