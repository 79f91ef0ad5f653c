# FedLESAM: Fan et al. 2024 (arXiv:2405.18890): the second gradient is taken along the way of the global model.
# g_2 at w + rho * (old - w_t) / |old - w_t|, old the model that the client was sent when it last took part.
# Differs: the first gradient is computed as well, and not used.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.05, least=0, doc="length of the step to the second gradient's point (ρ)")
old = fh.memory("old", of="client", first="w_t")


@fh.second
def second(w, w_t, old):
    return w + rho * (old - w_t) / (fh.norm(old - w_t) + 1e-12)


@fh.gradient
def gradient(g_2):
    return g_2


@fh.end
def end(w_t):
    return {old: w_t}
