# Mime with SGD and momentum: Karimireddy et al. 2020 (arXiv:2008.03606), Algorithm 1.
# A step goes along (1 - beta) * (g - gradient of the same batch at w_t + c) + beta * m; m <- (1 - beta) * c + beta * m.
# Differs: c is the mean of the gradients at w_t that the last round's clients have seen, batch by batch, not of this round's, all at once.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="momentum (β)")
c = fh.memory("c", of="server", down=True)
m = fh.memory("m", of="server", down=True)
seen = fh.memory("seen", of="visit", up=True)


@fh.second
def second(w_t):
    return w_t


@fh.gradient
def gradient(g, g_2, c, m, seen, steps):
    return {"g": (1 - beta) * (g - g_2 + c) + beta * m, seen: seen + g_2 / steps}


@fh.server
def server(w, m, k, server_lr):
    c_next = fh.mean(k.seen)
    return {"w": w + server_lr * fh.mean(k.u), c: c_next, m: (1 - beta) * c_next + beta * m}
