# MimeLite with SGD and momentum: Karimireddy et al. 2020 (arXiv:2008.03606), Algorithm 2.
# A step goes along (1 - beta) * g + beta * m; m <- (1 - beta) * c + beta * m, c the mean of the cohort's gradients at w_t.
# Differs: c is the mean of the batches' gradients, not of all examples at once.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="momentum (β)")
m = fh.memory("m", of="server", down=True)
seen = fh.memory("seen", of="visit", up=True)


@fh.second
def second(w_t):
    return w_t


@fh.gradient
def gradient(g, g_2, m, seen, steps):
    return {"g": (1 - beta) * g + beta * m, seen: seen + g_2 / steps}


@fh.server
def server(w, m, k, server_lr):
    return {"w": w + server_lr * fh.mean(k.u), m: (1 - beta) * fh.mean(k.seen) + beta * m}
