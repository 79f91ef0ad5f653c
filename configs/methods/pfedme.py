# pFedMe: T. Dinh, Tran and Nguyen 2020 (arXiv:2006.08848), Algorithm 1.
# The model that steps is theta: F_k(theta) + lambda/2 * |theta - c|^2 by K steps, then c <- c - eta * lambda * (c - theta); the server moves to the
# mean of c by beta. It is theta that evaluation.clients.personalized judges.
# Differs: each of the K steps has a batch of its own, and theta goes on from where it is. For plain SGD.
# For: personal.
import fedhive as fh

pull = fh.key("lambda", 15, above=0, doc="pull of the client's own model to the local one (λ)")
inner = fh.key("K", 5, least=1, integer=True, doc="steps of the own model for one of the local model (K)")
eta = fh.key("eta", 0.005, above=0, doc="rate of the local model (η)")
beta = fh.key("beta", 1, above=0, doc="rate of the server (β)")
c = fh.memory("c", of="visit", first="w_t")
theta = fh.memory("theta", of="client", first="w_t")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, w, c, step, lr):
    full = g + pull * (w - c)
    moved = c - eta * pull * (c - (w - lr * full))
    return {"g": full, c: fh.where(step % inner == inner - 1, moved, c)}


@fh.end
def end(w, w_t, c):
    return {theta: w, d: c - w_t}


@fh.server
def server(w, k):
    return w + beta * fh.mean(k.d)


@fh.judge
def judge(theta):
    return theta
