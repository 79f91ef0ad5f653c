# Reptile: Nichol, Achiam and Schulman 2018 (arXiv:1803.02999), batched: w <- w + eps * mean of w_k - w.
# For: optimisation.
import fedhive as fh

eps = fh.key("eps", 0.5, above=0, doc="step towards the mean of the clients' models (ε)")


@fh.server
def server(w, k):
    return w + eps * fh.mean(k.u)
