# PropFair: Zhang et al. 2022 (arXiv:2202.01666): -log(M - loss), which weighs up what is hard, with log continued as a line below eps.
# Differs: the logarithm is of each example's loss; the paper's is of a batch's mean.
# For: fairness.
import fedhive as fh

M = fh.key("M", 5.0, above=0, doc="baseline of the losses (M)")
eps = fh.key("eps", 0.2, above=0, doc="from where on the logarithm is a line (ε)")


@fh.loss
def loss(out, y):
    utility = M - fh.cross_entropy(out.logits, y)
    return -fh.where(utility >= eps, fh.log(fh.maximum(utility, eps)), fh.log(eps) + (utility - eps) / eps)
