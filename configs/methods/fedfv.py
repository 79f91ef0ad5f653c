# FedFV: Wang et al. 2021 (arXiv:2104.14937), Algorithm 1, internal conflicts: each update loses its parts that point against others, by ascending loss.
# The updates of the floor(alpha * K) largest losses stay as they are; the mean gets the length of the plain mean.
# Differs: conflicts with clients that do not take part in the round (τ) are not looked at.
# For: fairness.
import fedhive as fh

alpha = fh.key("alpha", 0.1, least=0, most=1, doc="share of the updates that stay as they are (α)")


@fh.weight
def weight(k):
    projected = fh.rank(k.sent_loss) < k.count - fh.floor(alpha * k.count)
    g = fh.without_conflicts(k.u, k.sent_loss, projected)
    length = fh.norm(fh.sum(g * k.u))
    return fh.where(length > 0, g * fh.norm(fh.sum(k.u)) / length, 0) / k.count
