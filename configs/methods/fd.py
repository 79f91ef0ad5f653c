# FD (FedDistill): Jeong et al. 2018 (arXiv:1811.11479), Algorithm 1: a class's mean outputs travel and teach.
# Differs: the model travels too, unless model.local keeps all of it with the clients; outputs are those of the trained model, and a client's
# own are among the means that teach it; a class that nobody has keeps its mean.
# For: losses.
import fedhive as fh

gamma = fh.key("gamma", 1.0, least=0, doc="weight of the distillation (γ)")
F = fh.memory("F", of="server", down=True, shape="logits")
known = fh.memory("known", of="server", down=True, shape="classes")
F_k = fh.memory("F_k", of="visit", up=True, shape="logits")
has = fh.memory("has", of="visit", up=True, shape="classes")


@fh.loss
def loss(out, y, F, known):
    return fh.cross_entropy(out.logits, y) - gamma * known[y] * fh.dot(F[y], fh.log_softmax(out.logits))


@fh.measure
def measure(out, y, counts):
    return {F_k: fh.softmax(out.logits) / counts[y]}


@fh.end
def end(counts):
    return {has: counts > 0}


@fh.server
def server(w, k, F, known):
    seen = fh.sum(k.has)
    return {"w": w + fh.mean(k.u), F: fh.where(seen > 0, fh.sum(k.F_k) / seen, F), known: fh.maximum(known, seen > 0)}
