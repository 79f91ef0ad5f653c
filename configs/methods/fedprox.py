# FedProx: Li et al. 2020 (arXiv:1812.06127), equation 2: a client minimises F_k(w) + mu/2 * |w - w_t|^2.
# Differs: all clients do the run's local steps; the paper's gamma lets them do fewer.
# For: optimisation.
import fedhive as fh

mu = fh.key("mu", 0.01, least=0, doc="pull to the model that was sent (μ)")


@fh.gradient
def gradient(g, w, w_t):
    return g + mu * (w - w_t)
