# Label smoothing: Szegedy et al. 2016 (arXiv:1512.00567), section 7, as nn.CrossEntropyLoss(label_smoothing=ε) has it.
# For: losses.
import fedhive as fh

epsilon = fh.key("epsilon", 0.1, least=0, below=1, doc="share of all classes in the target (ε)")


@fh.loss
def loss(out, y):
    return (1 - epsilon) * fh.cross_entropy(out.logits, y) - epsilon * fh.mean(fh.log_softmax(out.logits))
