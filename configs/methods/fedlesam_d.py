# FedLESAM-D: Fan et al. 2024 (arXiv:2405.18890): FedLESAM with FedDyn's dynamic regularisation.
# A step goes along g_2 - g_k + alpha * (w - w_t), with g_2 at w + rho * (old - w_t) / |old - w_t|, old the model that the client was sent when it last took part.
# Differs: the first gradient is computed as well, and not used.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.05, least=0, doc="length of the step to the second gradient's point (ρ)")
alpha = fh.key("alpha", 0.1, above=0, doc="pull to the model that was sent (α)")
old = fh.memory("old", of="client", first="w_t")
g_k = fh.memory("g_k", of="client")
h = fh.memory("h", of="server")


@fh.second
def second(w, w_t, old):
    return w + rho * (old - w_t) / (fh.norm(old - w_t) + 1e-12)


@fh.gradient
def gradient(g_2, w, w_t, g_k):
    return g_2 - g_k + alpha * (w - w_t)


@fh.end
def end(w_t, u, g_k):
    return {g_k: g_k - alpha * u, old: w_t}


@fh.server
def server(w, h, k, clients):
    h_next = h - alpha / clients * fh.sum(k.u)
    return {"w": w + fh.mean(k.u) - h_next / alpha, h: h_next}
