# FedAc: Yuan and Ma 2020 (arXiv:2006.08950), Algorithm 1: two sequences, x and the aggregated one, which the server has as w.
# The gradient is taken at md = x / beta + (1 - 1 / beta) * ag; ag <- md - lr * g; x <- (1 - 1 / alpha) * x + md / alpha - gamma * g.
# alpha = 1 / (gamma * mu), beta = alpha + 1 (FedAc-I). A client's present model is md; the server keeps o = x - w. For plain SGD.
# For: optimisation.
import fedhive as fh

ratio = fh.key("ratio", 2.0, least=1, doc="gamma over lr; the paper's is max(sqrt(1 / (lr * mu * K)), 1) for K local steps (γ/η)")
mu = fh.key("mu", 0.1, above=0, doc="strong convexity (μ); ratio * lr * mu is at most 1")
o = fh.memory("o", of="server", down=True)
x = fh.memory("x", of="visit", first="w_t")
ag = fh.memory("ag", of="visit", first="w_t")
way = fh.memory("way", of="visit", up=True)
gap = fh.memory("gap", of="visit", up=True)


@fh.start
def start(w_t, o, lr):
    beta = 1 / (ratio * lr * mu) + 1
    return w_t + o / beta


@fh.gradient
def gradient(g, w, lr, o, x):
    gamma = ratio * lr
    beta = 1 / (gamma * mu) + 1
    ag_next = w - lr * g
    x_next = (1 - gamma * mu) * (x + o) + gamma * mu * w - gamma * g
    md_next = x_next / beta + (1 - 1 / beta) * ag_next
    return {"g": (w - md_next) / lr, x: x_next - o, ag: ag_next}


@fh.end
def end(w_t, o, x, ag):
    return {way: ag - w_t, gap: x + o - ag}


@fh.server
def server(w, k):
    return {"w": w + fh.mean(k.way), o: fh.mean(k.gap)}
