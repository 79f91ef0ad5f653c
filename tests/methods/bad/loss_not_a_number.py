import fedhive as fh
@fh.loss
def loss(out, y):
    return fh.log_softmax(out.logits)
