# FedGAMMA: Dai et al. 2023 (IEEE TNNLS): FedSAM's gradient, corrected by SCAFFOLD's control variates.
# A step goes along g_2 + c - c_k, with g_2 at w + rho * g / |g|; c_k and c as in SCAFFOLD, option II.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.05, least=0, doc="length of the step to the second gradient's point (ρ)")
c = fh.memory("c", of="server", down=True)
c_k = fh.memory("c_k", of="client")
d = fh.memory("d", of="visit", up=True)


@fh.second
def second(g, w):
    return w + rho * g / fh.norm(g)


@fh.gradient
def gradient(g_2, c, c_k):
    return g_2 + c - c_k


@fh.end
def end(w, w_t, c, c_k, steps, lr):
    change = (w_t - w) / (steps * lr) - c
    return {d: change, c_k: c_k + change}


@fh.server
def server(w, c, k, server_lr, clients):
    return {"w": w + server_lr * fh.mean(k.u), c: c + fh.sum(k.d) / clients}
