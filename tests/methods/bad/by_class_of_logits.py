import fedhive as fh
P = fh.memory("P", of="server", down=True, shape="features")
@fh.loss
def loss(out, y, P):
    return fh.cross_entropy(fh.dot(out.logits, P), y)
