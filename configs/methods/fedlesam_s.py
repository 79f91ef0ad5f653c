# FedLESAM-S: Fan et al. 2024 (arXiv:2405.18890): FedLESAM with SCAFFOLD's control variates.
# A step goes along g_2 + c - c_k, with g_2 at w + rho * (old - w_t) / |old - w_t|, old the model that the client was sent when it last took part.
# Differs: the first gradient is computed as well, and not used.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.05, least=0, doc="length of the step to the second gradient's point (ρ)")
old = fh.memory("old", of="client", first="w_t")
c = fh.memory("c", of="server", down=True)
c_k = fh.memory("c_k", of="client")
d = fh.memory("d", of="visit", up=True)


@fh.second
def second(w, w_t, old):
    return w + rho * (old - w_t) / (fh.norm(old - w_t) + 1e-12)


@fh.gradient
def gradient(g_2, c, c_k):
    return g_2 + c - c_k


@fh.end
def end(w, w_t, c, c_k, steps, lr):
    change = (w_t - w) / (steps * lr) - c
    return {d: change, c_k: c_k + change, old: w_t}


@fh.server
def server(w, c, k, server_lr, clients):
    return {"w": w + server_lr * fh.mean(k.u), c: c + fh.sum(k.d) / clients}
