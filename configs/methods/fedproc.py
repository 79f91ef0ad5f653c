# FedProc: Mu et al. 2021 (arXiv:2109.12273): a contrast with all prototypes, which gives way to the cross-entropy.
# Differs: z is what the last layer gets, without a projection head, and meets prototypes by its cosine; they are weighed by examples.
# For: losses.
import fedhive as fh

rounds = fh.key("rounds", 100, least=1, integer=True, doc="after which cross-entropy is all (T)")
temperature = fh.key("temperature", 0.5, above=0, doc="of the contrast (τ)")
P = fh.memory("P", of="server", down=True, shape="features")
known = fh.memory("known", of="server", down=True, shape="classes")
S = fh.memory("S", of="visit", up=True, shape="features")
m = fh.memory("m", of="visit", up=True, shape="classes")


@fh.loss
def loss(out, y, P, known, round):
    near = fh.where(known, fh.cos(out.z, P) / temperature, -1e4)  # a class without a prototype is far
    contrast = known[y] * fh.maximum(1 - round / rounds, 0)
    return contrast * fh.cross_entropy(near, y) + (1 - contrast) * fh.cross_entropy(out.logits, y)


@fh.measure
def measure(out, n):
    return {S: out.z / n}  # the server's mean counts a client n times


@fh.end
def end(counts, n):
    return {m: counts / n}


@fh.server
def server(w, u, P, known, S, m):
    return {"w": w + u, P: fh.where(m > 0, S / m, P), known: fh.maximum(known, m > 0)}
