# FedGKD: Yao et al. 2021 (arXiv:2107.00051), with a buffer of one model: the sent model teaches.
# For: losses.
import fedhive as fh

gamma = fh.key("gamma", 0.2, least=0, doc="weight of the distillation (γ)")


@fh.loss(also_at={"sent": "w_t"})
def loss(out, y, sent):
    return fh.cross_entropy(out.logits, y) + gamma / 2 * fh.kl(fh.log_softmax(sent.logits), fh.log_softmax(out.logits))
