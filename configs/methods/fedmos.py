# FedMoS: Wang et al. 2023 (INFOCOM), double momentum without its selection of clients: d <- g(w) + (1 - a) (d - g(w before)) on one batch, d = g in the first step,
# and w <- (1 - mu) w - lr * d + mu * w_t. The clients' optimiser is plain SGD.
# For: optimisation.
import fedhive as fh

a      = fh.key("a", 0.1, above=0, most=1, doc="weight of the new gradient (a)")
mu     = fh.key("mu", 0.01, least=0, most=1, doc="pull to the model that was sent (μ)")
d      = fh.memory("d", of="visit")
before = fh.memory("before", of="visit", first="w_t")

@fh.second
def second(before):
    return before

@fh.gradient
def gradient(g, g_2, w, w_t, d, step, lr):
    moving = fh.where(step == 0, g, g + (1 - a) * (d - g_2))
    return {"g": moving + mu / lr * (w - w_t), d: moving, before: w}
