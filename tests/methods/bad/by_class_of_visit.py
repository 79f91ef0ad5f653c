import fedhive as fh
S = fh.memory("S", of="visit", up=True, shape="features")
@fh.loss
def loss(out, y, S):
    return fh.cross_entropy(out.logits, y)
