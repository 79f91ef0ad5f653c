# FedLin: Mitra et al. 2021 (arXiv:2102.07053), Algorithm 1 without sparsification: g - gradient of F_k at w_t + c, c the mean of these gradients, at the rate lr / K of a
# client with K steps.
# Differs: c is the last round's, at first 0; the paper asks all clients for it in the same round. g is a batch's gradient. All clients should take part, as there.
# For: optimisation.
import fedhive as fh

c = fh.memory("c", of="server", down=True)
full = fh.memory("full", of="visit", up=True)


@fh.gradient
def gradient(g, g_t, c, steps):
    return (g - g_t + c) / steps


@fh.end
def end(g_t):
    return {full: g_t}


@fh.server
def server(w, k):
    return {"w": w + fh.mean(k.u), c: fh.mean(k.full)}
