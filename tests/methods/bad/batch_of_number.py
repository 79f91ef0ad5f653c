import fedhive as fh

@fh.loss
def loss(out, y):
    return fh.cross_entropy(out.logits, y) + fh.batch_square(fh.norm(out.z))
