# Local AMSGrad: Chen, Li and Li 2020 (FODS, "Toward communication efficient adaptive gradient method"): all clients divide by the same v_max in a round.
# m_k <- beta1 * m_k + (1 - beta1) * g; v_k <- beta2 * v_k + (1 - beta2) * g^2; a step goes along m_k / sqrt(v_max).
# Server: v_max <- max(v_max, mean of v_k), w <- mean of w_k. For plain SGD as the run's optimiser. All clients should take part, as there.
# For: optimisation.
import fedhive as fh

beta1 = fh.key("beta1", 0.9, least=0, below=1, doc="share of the last direction that is kept (β₁)")
beta2 = fh.key("beta2", 0.99, least=0, below=1, doc="share of the last squares that is kept (β₂)")
eps = fh.key("eps", 0.01, above=0, doc="first v_max, and its least element (ε)")
m_k = fh.memory("m_k", of="client")
v_k = fh.memory("v_k", of="client")
v_max = fh.memory("v_max", of="server", down=True)
squares = fh.memory("squares", of="visit", up=True)


@fh.gradient
def gradient(g, m_k, v_k, v_max):
    m_next = beta1 * m_k + (1 - beta1) * g
    v_next = beta2 * v_k + (1 - beta2) * g**2
    return {"g": m_next / fh.sqrt(fh.maximum(v_max, eps)), m_k: m_next, v_k: v_next}


@fh.end
def end(v_k):
    return {squares: v_k}


@fh.server
def server(w, v_max, k):
    return {"w": w + fh.mean(k.u), v_max: fh.maximum(v_max, fh.mean(k.squares))}
