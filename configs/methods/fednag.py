# FedNAG: Yang et al. 2020 (arXiv:2009.08716), Algorithm 1: clients step by Nesterov's momentum, models and momenta are averaged.
# v <- gamma * v - lr * g; w <- w + gamma * v - lr * g. For plain SGD, which makes w - lr * (g - gamma * v / lr).
# For: optimisation.
import fedhive as fh

gamma = fh.key("gamma", 0.9, least=0, below=1, doc="momentum (γ)")
v = fh.memory("v", of="server", down=True)
change = fh.memory("change", of="visit", up=True)


@fh.gradient
def gradient(g, lr, v, change):
    v_next = gamma * (v + change) - lr * g
    return {"g": g - gamma * v_next / lr, change: v_next - v}


@fh.server
def server(w, u, v, change):
    return {"w": w + u, v: v + change}
