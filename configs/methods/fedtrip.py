# FedTrip: Li et al. 2023 (arXiv:2304.05824): F_k(w) + mu/2 * (|w - w_t|^2 - xi * |w - w_k|^2), w_k the client's own last model.
# Differs: xi is one key for all clients and rounds. At a client's first visit w_k is w_t.
# For: optimisation.
import fedhive as fh

mu = fh.key("mu", 0.4, least=0, doc="pull to the model that was sent (μ)")
xi = fh.key("xi", 0.5, least=0, below=1, doc="push from the client's own last model, as a share of mu (ξ)")
last = fh.memory("last", of="client", first="w_t")


@fh.gradient
def gradient(g, w, w_t, last):
    return g + mu * (w - w_t - xi * (w - last))


@fh.end
def end(w):
    return {last: w}
