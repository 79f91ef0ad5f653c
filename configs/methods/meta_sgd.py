# FedMeta with Meta-SGD: Chen et al. 2018 (arXiv:1802.07876), Algorithm 1: the rate of each parameter is learned, too.
# A step goes along the gradient g_2 at w - a * g on the next batch; the rates a go along -g * g_2. Both are averaged.
# Differs: without second derivatives. evaluation.clients.personalized trains by the run's lr, not by a.
# For: personal.
import fedhive as fh

alpha = fh.key("alpha", 0.01, above=0, doc="first rate of each parameter (α)")
more = fh.memory("more", of="server", down=True)
change = fh.memory("change", of="visit", up=True)


@fh.second(batch="next")
def second(g, w, more, change):
    return w - (alpha + more + change) * g


@fh.gradient
def gradient(g, g_2, lr, change):
    return {"g": g_2, change: change + lr * g * g_2}


@fh.server
def server(w, u, more, change):
    return {"w": w + u, more: more + change}
