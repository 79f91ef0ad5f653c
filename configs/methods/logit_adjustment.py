# Logit adjustment: Menon et al. 2021 (arXiv:2007.07314), equation 10: cross-entropy of logits + tau * log of a class's share of the client's examples.
# Differs: a class that the client lacks counts as 1e-8 of an example.
# For: losses.
import fedhive as fh

tau = fh.key("tau", 1.0, least=0, doc="strength of the adjustment (τ)")


@fh.loss
def loss(out, y, counts):
    return fh.cross_entropy(out.logits + tau * fh.log(fh.maximum(counts, 1e-8) / fh.sum(counts)), y)
