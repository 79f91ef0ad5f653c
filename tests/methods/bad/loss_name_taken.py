import fedhive as fh
z = fh.key("z", 1.0)
@fh.loss
def loss(out, y):
    return z * fh.cross_entropy(out.logits, y)
