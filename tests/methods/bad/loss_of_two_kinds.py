import fedhive as fh
@fh.loss
def loss(out, y):
    return fh.sum(out.logits * out.z)
