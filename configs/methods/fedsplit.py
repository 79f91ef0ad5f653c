# FedSplit: Pathak and Wainwright 2020 (arXiv:2005.05238), Algorithm 1.
# A client minimises s * F_k(w) + 1/2 * |w - (2 * w_t - z_k)|^2, then z_k <- z_k + 2 * (w - w_t); the server takes the mean of z_k.
# Differs: local steps, from w_t, stand in for the minimisation. All clients should take part, as there.
# For: optimisation.
import fedhive as fh

s = fh.key("s", 1.0, above=0, doc="step of the proximal operator: one over the pull (s)")
z_k = fh.memory("z_k", of="client", first="w_t")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, w, w_t, z_k):
    return g + (w - (2 * w_t - z_k)) / s


@fh.end
def end(w, w_t, z_k):
    z_next = z_k + 2 * (w - w_t)
    return {d: z_next - w_t, z_k: z_next}


@fh.server
def server(w, k):
    return w + fh.mean(k.d)
