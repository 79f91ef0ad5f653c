# CELGC: Liu et al. 2022 (arXiv:2205.05040): a local step is min(eta, gamma / |g|) * g, and models are averaged now and then.
# eta is the run's lr; the run steps by lr * g, so g is scaled by min(1, gamma / (lr * |g|)).
# For: optimisation.
import fedhive as fh

gamma = fh.key("gamma", 0.1, above=0, doc="the longest local step (γ)")


@fh.gradient
def gradient(g, lr):
    return g * fh.minimum(1, gamma / (lr * fh.norm(g)))


@fh.server
def server(w, k):
    return w + fh.mean(k.u)
