import fedhive as fh
@fh.loss
def loss(out, label):
    return fh.cross_entropy(out.logits, label)
