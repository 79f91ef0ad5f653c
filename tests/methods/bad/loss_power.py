import fedhive as fh
@fh.loss
def loss(out, y):
    return fh.sum(2 ** out.logits)
