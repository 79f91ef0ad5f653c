import fedhive as fh
@fh.loss
def loss(out, y, w):
    return fh.cross_entropy(out.logits, y) + fh.norm(w)
