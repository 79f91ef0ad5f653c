# FedNova: Wang et al. 2020 (arXiv:2007.07481): w <- w + (sum p_k * tau_k) * sum p_k * u_k / tau_k, p_k = n_k / n.
# tau_k is the norm |a_k|_1 for a client with momentum rho; for rho = 0 its number of steps.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.0, least=0, below=1, doc="the client optimiser's momentum (ρ)")


@fh.server
def server(w, k, server_lr):
    tau = (k.steps - rho * (1 - rho**k.steps) / (1 - rho)) / (1 - rho)
    p = k.n / fh.sum(k.n)
    tau_eff = fh.sum(p * tau)
    return w + server_lr * tau_eff * fh.sum(p / tau * k.u)
