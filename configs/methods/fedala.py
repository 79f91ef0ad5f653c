# FedALA: Zhang et al. 2023 (arXiv:2212.01197), Algorithm 1.
# A visit begins at w_k + (w_t - w_k) * A, w_k the client's own last model; its first steps train A in [0, 1], the others w. It is this mixture that
# evaluation.clients.personalized judges, with the last A.
# Differs: A is of all layers; each visit trains it for the same share of its steps, also the second, where the paper goes on until it converges.
# For plain SGD: in the steps of A the returned gradient leads to the new mixture.
# For: personal.
import fedhive as fh

eta = fh.key("eta", 1, above=0, doc="rate of A (η)")
share = fh.key("share", 0.4, least=0, below=1, doc="share of a visit's steps that train A: s / (s + E) for a share s of the examples and E local epochs")
w_k = fh.memory("w_k", of="client", first="w_t")
b = fh.memory("b", of="client")  # 1 - A, since A is 1 at first


@fh.start
def start(w_t, w_k, b):
    return w_k + (w_t - w_k) * (1 - b)


@fh.gradient
def gradient(g, w, w_t, w_k, b, lr, step, steps):
    moved = fh.clip(b + eta * g * (w_t - w_k), 0, 1)
    mixed = w_k + (w_t - w_k) * (1 - moved)
    return {"g": fh.where(step < share * steps, (w - mixed) / lr, g), b: fh.where(step < share * steps, moved, b)}


@fh.end
def end(w):
    return {w_k: w}


@fh.judge
def judge(w_t, w_k, b):
    return w_k + (w_t - w_k) * (1 - b)
