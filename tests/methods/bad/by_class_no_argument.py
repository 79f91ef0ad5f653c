import fedhive as fh
P = fh.memory("P", of="server", shape="features", down=True)
S = fh.memory("S", of="visit", shape="features", up=True)
@fh.loss
def loss(out, y):
    return fh.cross_entropy(out.logits, y) + fh.norm(out.z - P[y])
@fh.measure
def measure(out):
    return {S: out.z}
@fh.server
def server(w, u, S):
    return {"w": w + u, P: S}
