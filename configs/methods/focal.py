# The focal loss: Lin et al. 2017 (arXiv:1708.02002), equation 5, with probabilities of a softmax.
# For: losses.
import fedhive as fh

gamma = fh.key("gamma", 2.0, least=0, doc="focus on hard examples (γ)")


@fh.loss
def loss(out, y):
    return (1 - fh.pick(fh.softmax(out.logits), y)) ** gamma * fh.cross_entropy(out.logits, y)
