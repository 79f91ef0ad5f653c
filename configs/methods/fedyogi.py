# FedYogi: Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2: v <- v - (1 - beta2) * D^2 * sign(v - D^2), else as FedAdam.
# Differs: D, the mean update, has the run's weights; the paper's are equal.
# For: optimisation.
import fedhive as fh

beta1 = fh.key("beta1", 0.9, least=0, below=1, doc="share of the last direction that is kept (β₁)")
beta2 = fh.key("beta2", 0.99, least=0, below=1, doc="share of the last squares that is kept (β₂)")
tau = fh.key("tau", 0.001, above=0, doc="bounds how far an element's rate may grow (τ)")
m = fh.memory("m", of="server")
v = fh.memory("v", of="server", first=tau**2)


@fh.server
def server(w, u, m, v, server_lr):
    squares = u**2
    m_next = beta1 * m + (1 - beta1) * u
    v_next = v - (1 - beta2) * squares * fh.sign(v - squares)
    return {"w": w + server_lr * m_next / (fh.sqrt(v_next) + tau), m: m_next, v: v_next}
