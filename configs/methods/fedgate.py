# FedGATE: Haddadpour et al. 2021 (arXiv:2007.01154), Algorithm 2 without compression.
# A step goes along g - delta_k. Then D_k = (w_t - w_k) / lr, D their mean, w <- w - lr * gamma * D, delta_k <- delta_k + (D_k - D) / K.
# A client finds D in the next model that it is sent. All clients should take part, as there. For plain SGD.
# For: optimisation.
import fedhive as fh

gamma = fh.key("gamma", 1.0, above=0, doc="rate of the server (γ)")
delta = fh.memory("delta", of="client")
own = fh.memory("own", of="client", first="w_t")
sent = fh.memory("sent", of="client", first="w_t")


def tracked(delta, own, sent, w_t, steps, lr):
    return delta + ((sent - own) - (sent - w_t) / gamma) / (steps * lr)


@fh.gradient
def gradient(g, w_t, steps, lr, delta, own, sent):
    return g - tracked(delta, own, sent, w_t, steps, lr)


@fh.end
def end(w, w_t, steps, lr, delta, own, sent):
    return {delta: tracked(delta, own, sent, w_t, steps, lr), own: w, sent: w_t}


@fh.server
def server(w, k):
    return w + gamma * fh.mean(k.u)
