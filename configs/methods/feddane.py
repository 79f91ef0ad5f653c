# FedDANE: Li et al. 2020 (arXiv:2001.01920), Algorithm 2.
# F_k(w) + <c - gradient of F_k at w_t, w - w_t> + mu/2 * |w - w_t|^2, c the mean of the gradients at w_t.
# Differs: gradients at w_t are those of the step's batch; c is the mean that the last round's clients have seen.
import fedhive as fh

mu = fh.key("mu", 0.01, least=0, doc="pull to the model that was sent (μ)")
c = fh.memory("c", of="server", down=True)
seen = fh.memory("seen", of="visit", up=True)


@fh.second
def second(w_t):
    return w_t


@fh.gradient
def gradient(g, g_2, w, w_t, c, seen, steps):
    return {"g": g - g_2 + c + mu * (w - w_t), seen: seen + g_2 / steps}


@fh.server
def server(w, k):
    return {"w": w + fh.mean(k.u), c: fh.mean(k.seen)}
