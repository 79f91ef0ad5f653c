# FedProto: Tan et al. 2022 (arXiv:2105.00243), Algorithm 1: prototypes, a class's mean features, travel.
# Differs: the model travels too, unless model.local keeps all of it with the clients; each example is pulled, as in the authors' code; a
# client answers by its classifier; clients count by their examples of a class, and a class that nobody has keeps its prototype.
# For: losses.
import fedhive as fh

pull = fh.key("pull", 1.0, least=0, doc="to the prototype of the label (λ)")
P = fh.memory("P", of="server", down=True, shape="features")
known = fh.memory("known", of="server", down=True, shape="classes")
S = fh.memory("S", of="visit", up=True, shape="features")
m = fh.memory("m", of="visit", up=True, shape="classes")


@fh.loss
def loss(out, y, P, known):
    return fh.cross_entropy(out.logits, y) + pull * known[y] * fh.mean((out.z - P[y]) ** 2)


@fh.measure
def measure(out, n):
    return {S: out.z / n}  # the server's mean counts a client n times


@fh.end
def end(counts, n):
    return {m: counts / n}


@fh.server
def server(w, u, P, known, S, m):
    return {"w": w + u, P: fh.where(m > 0, S / m, P), known: fh.maximum(known, m > 0)}
