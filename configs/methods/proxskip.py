# ProxSkip (Scaffnew): Mishchenko et al. 2022 (arXiv:2202.09357), Algorithm 2.
# A step is w - lr * (g - h_k); after averaging, h_k <- h_k + p / lr * (w_(t+1) - w_k), which a client adds at its next visit.
# Differs: each round has the run's local steps, not a number drawn with mean 1 / p. All clients should take part, as there.
# For: optimisation.
import fedhive as fh

p = fh.key("p", 0.1, above=0, most=1, doc="one over the local steps of a round (p)")
h_k = fh.memory("h_k", of="client")
last = fh.memory("last", of="client", first="w_t")


@fh.gradient
def gradient(g, w_t, lr, h_k, last):
    return g - (h_k + p / lr * (w_t - last))


@fh.end
def end(w, w_t, lr, h_k, last):
    return {h_k: h_k + p / lr * (w_t - last), last: w}


@fh.server
def server(w, k):
    return w + fh.mean(k.u)
