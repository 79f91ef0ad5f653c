# The class-balanced loss: Cui et al. 2019 (arXiv:1901.05555), equation 10: cross-entropy by (1 - beta) / (1 - beta^n_y), n_y the client's examples of the class.
# As in the paper, the weights of the classes sum up to their number; a class that the client lacks has none.
# For: losses.
import fedhive as fh

beta = fh.key("beta", 0.99, above=0, below=1, doc="how much of the examples' number counts (β)")


@fh.loss
def loss(out, y, counts):
    weights = fh.where(counts > 0, (1 - beta) / (1 - fh.exp(fh.maximum(counts, 1) * fh.log(beta))), 0)
    return fh.sum(weights * fh.one_hot(y)) / fh.mean(weights) * fh.cross_entropy(out.logits, y)
