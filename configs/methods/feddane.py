# FedDANE: Li et al. 2020 (arXiv:2001.01920), Algorithm 2.
# F_k(w) + <c - gradient of F_k at w_t, w - w_t> + mu/2 * |w - w_t|^2, c the mean of the cohort's gradients at w_t.
# Differs: c is the last round's, at first 0; the paper asks a cohort of its own for it in the same round. Local steps stand in for the argmin.
# For: optimisation.
import fedhive as fh

mu = fh.key("mu", 0.01, least=0, doc="pull to the model that was sent (μ)")
c = fh.memory("c", of="server", down=True)
full = fh.memory("full", of="visit", up=True)


@fh.gradient
def gradient(g, w, w_t, g_t, c):
    return g + c - g_t + mu * (w - w_t)


@fh.end
def end(g_t):
    return {full: g_t}


@fh.server
def server(w, k):
    return {"w": w + fh.mean(k.u), c: fh.mean(k.full)}
