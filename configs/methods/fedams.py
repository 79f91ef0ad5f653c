# FedAMS: Wang, Lin and Chen 2022 (arXiv:2205.02719), option 1: v_max <- max(v_max, v, eps), w <- w + eta * m / sqrt(v_max).
# m and v are FedAdam's. Differs: the mean update has the run's weights; the paper's are equal.
# For: optimisation.
import fedhive as fh

beta1 = fh.key("beta1", 0.9, least=0, below=1, doc="share of the last direction that is kept (β₁)")
beta2 = fh.key("beta2", 0.99, least=0, below=1, doc="share of the last squares that is kept (β₂)")
eps = fh.key("eps", 0.001, above=0, doc="least value under the root (ε)")
m = fh.memory("m", of="server")
v = fh.memory("v", of="server")
v_max = fh.memory("v_max", of="server")


@fh.server
def server(w, u, m, v, v_max, server_lr):
    m_next = beta1 * m + (1 - beta1) * u
    v_next = beta2 * v + (1 - beta2) * u**2
    highest = fh.maximum(fh.maximum(v_max, v_next), eps)
    return {"w": w + server_lr * m_next / fh.sqrt(highest), m: m_next, v: v_next, v_max: highest}
