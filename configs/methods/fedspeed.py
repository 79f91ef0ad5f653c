# FedSpeed: Sun et al. 2023 (arXiv:2302.10429), Algorithm 1.
# A step goes along (1 - alpha) * g + alpha * g_2 - c_k + (w - w_t) / lambda, with g_2 at w + rho * g; c_k <- c_k - (w_k - w_t) / lambda;
# the client sends w_k - lambda * c_k, and the server takes the mean.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.1, least=0, doc="length of the ascent to the second gradient's point (ρ)")
alpha = fh.key("alpha", 0.5, least=0, most=1, doc="share of the second gradient (α)")
pull = fh.key("lambda", 10, above=0, doc="inverse pull to the model that was sent (λ)")
c_k = fh.memory("c_k", of="client")
d = fh.memory("d", of="visit", up=True)


@fh.second
def second(g, w):
    return w + rho * g


@fh.gradient
def gradient(g, g_2, w, w_t, c_k):
    return (1 - alpha) * g + alpha * g_2 - c_k + (w - w_t) / pull


@fh.end
def end(u, c_k):
    c_next = c_k - u / pull
    return {c_k: c_next, d: -pull * c_next}


@fh.server
def server(w, k):
    return w + fh.mean(k.u) + fh.mean(k.d)
