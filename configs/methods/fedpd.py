# FedPD: Zhang et al. 2021 (arXiv:2005.11418), with p = 0.
# F_k(w) + <y_k, w - w_t> + |w - w_t|^2 / (2 * eta); y_k <- y_k + (w_k - w_t) / eta; w <- mean of w_k + eta * y_k.
# Differs: local steps stand in for the inexact minimisation. All clients should take part, as there.
# For: optimisation.
import fedhive as fh

eta = fh.key("eta", 1.0, above=0, doc="one over the pull to the model that was sent (η)")
y_k = fh.memory("y_k", of="client")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, w, w_t, y_k):
    return g + y_k + (w - w_t) / eta


@fh.end
def end(u, y_k):
    y_next = y_k + u / eta
    return {d: u + eta * y_next, y_k: y_next}


@fh.server
def server(w, k):
    return w + fh.mean(k.d)
