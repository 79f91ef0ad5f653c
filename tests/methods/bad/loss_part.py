import fedhive as fh
@fh.loss
def loss(out, y):
    return fh.cross_entropy(out.logit, y)
