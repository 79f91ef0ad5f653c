# Delta-SGD: Kim, Toghani, Uribe and Kyrillidis 2023 (arXiv:2306.11201), Algorithm 1: each client finds its own rate.
# rate <- min(gamma * |w - w_before| / (2 * |g - g_before|), sqrt(1 + delta * theta) * rate), theta = the last rate over the one before it.
# A visit begins with eta0 and theta = 1. The run's lr does not count; for plain SGD.
# For: optimisation.
import fedhive as fh

gamma = fh.key("gamma", 2.0, above=0, doc="share of the inverse smoothness (γ)")
delta = fh.key("delta", 0.1, least=0, doc="how fast a rate grows (δ)")
eta0 = fh.key("eta0", 0.2, above=0, doc="first rate of a visit (η₀)")
before = fh.memory("before", of="visit", first="w_t")
g_before = fh.memory("g_before", of="visit")
rate = fh.memory("rate", of="visit")
grown = fh.memory("grown", of="visit")


@fh.gradient
def gradient(g, w, lr, step, before, g_before, rate, grown):
    last = fh.mean(rate)
    smooth = gamma * fh.norm(w - before) / (2 * fh.norm(g - g_before))
    now = fh.where(step == 0, eta0, fh.minimum(smooth, fh.sqrt(1 + delta * fh.mean(grown)) * last))
    growth = fh.where(step == 0, 1, now / last)
    return {"g": now / lr * g, before: w, g_before: g, rate: fh.where(rate < 0, rate, now), grown: fh.where(rate < 0, grown, growth)}  # all elements equal
