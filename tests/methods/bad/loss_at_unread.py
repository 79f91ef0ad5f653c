import fedhive as fh
@fh.loss(also_at={"sent": "w_t"})
def loss(out, y, sent):
    return fh.cross_entropy(out.logits, y)
