import fedhive as fh
@fh.loss
def loss(out, y):
    return fh.cross_entropy(out.logits, fh.one_hot(y))
