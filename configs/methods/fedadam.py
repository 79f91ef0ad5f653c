# FedAdam: Reddi et al. 2021 (arXiv:2003.00295), Algorithm 2: v <- beta2 * v + (1 - beta2) * D^2, w <- w + eta * m / (sqrt(v) + tau).
# Differs: D, the mean update, has the run's weights; the paper's are equal. As there, nothing corrects m and v for their first values.
# For: optimisation.
import fedhive as fh

beta1 = fh.key("beta1", 0.9, least=0, below=1, doc="share of the last direction that is kept (β₁)")
beta2 = fh.key("beta2", 0.99, least=0, below=1, doc="share of the last squares that is kept (β₂)")
tau = fh.key("tau", 0.001, above=0, doc="bounds how far an element's rate may grow (τ)")
m = fh.memory("m", of="server")
v = fh.memory("v", of="server", first=tau**2)


@fh.server
def server(w, u, m, v, server_lr):
    m_next = beta1 * m + (1 - beta1) * u
    v_next = beta2 * v + (1 - beta2) * u**2
    return {"w": w + server_lr * m_next / (fh.sqrt(v_next) + tau), m: m_next, v: v_next}
