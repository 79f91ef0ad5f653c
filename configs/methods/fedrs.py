# FedRS: Li and Zhan 2021 (KDD, doi:10.1145/3447548.3467254), restricted softmax: scores of classes that a client lacks are scaled by alpha.
# Differs: all that the last layer gives is scaled, its bias, too.
# For: losses.
import fedhive as fh

alpha = fh.key("alpha", 0.5, least=0, most=1, doc="scale of a missing class's score (α)")


@fh.loss
def loss(out, y, counts):
    return fh.cross_entropy(fh.where(counts > 0, out.logits, alpha * out.logits), y)
