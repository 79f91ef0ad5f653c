# MR-MTL, mean-regularised multi-task learning: Liu, Hu, Wu and Smith 2022 (arXiv:2206.07902), Algorithm 1.
# A client trains its own model, on F_k(w) + lambda/2 * |w - w_t|^2; w_t is the mean of all clients' own models.
# evaluation.clients.personalized judges each client's own model.
# For: personal.
import fedhive as fh

pull = fh.key("lambda", 0.1, least=0, doc="pull of the client's own model to the mean (λ)")
own = fh.memory("own", of="client", first="w_t")


@fh.start
def start(own):
    return own


@fh.gradient
def gradient(g, w, w_t):
    return g + pull * (w - w_t)


@fh.end
def end(w):
    return {own: w}


@fh.server
def server(w, k):
    return w + fh.mean(k.u)


@fh.judge
def judge(own):
    return own
