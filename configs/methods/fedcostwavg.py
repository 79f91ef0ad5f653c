# FedCostWAvg: Mächler et al. 2021 (arXiv:2111.08649): weights alpha * n_k / sum of n + (1 - alpha) * c_k / sum of c, c_k the client's last loss over its present one.
# The loss is the mean of a visit's. Differs: a client's first c_k is 1; its last loss is that of its last visit.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 0.5, least=0, most=1, doc="how much examples count beside falling losses (α)")
loss_before = fh.memory("loss_before", of="client")
fall = fh.report("fall", doc="the client's last loss over its present one")


@fh.end
def end(loss, loss_before):
    before = fh.mean(loss_before)
    return {fall: fh.where(before > 0, before / loss, 1), loss_before: loss_before + (loss - before)}


@fh.weight
def weight(k):
    return alpha * k.n / fh.sum(k.n) + (1 - alpha) * k.fall / fh.sum(k.fall)
