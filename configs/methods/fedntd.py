# FedNTD: Lee et al. 2022 (arXiv:2106.03097): the sent model teaches the classes that are not true.
# For: losses.
import fedhive as fh

beta = fh.key("beta", 1.0, least=0, doc="weight of the distillation (β)")
tau = fh.key("tau", 1.0, above=0, doc="temperature (τ)")


@fh.loss(also_at={"sent": "w_t"})
def loss(out, y, sent):
    true = fh.one_hot(y)
    teacher = fh.log_softmax(fh.where(true, -1e9, sent.logits / tau))
    student = fh.log_softmax(fh.where(true, -1e9, out.logits / tau))
    return fh.cross_entropy(out.logits, y) + beta * fh.kl(teacher, student)
