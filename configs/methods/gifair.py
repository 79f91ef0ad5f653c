# GIFAIR-FL: Yue, Nouiehed and Al Kontar 2021 (arXiv:2108.02741): p_k * (1 + lambda * r_k / p_k), r_k the number of clients of lower loss less that of higher loss.
# lambda is a share of its largest value min(p) / (K - 1). The loss is that of the model that was sent.
# Differs: each client is a group of its own; its update is scaled, not the rate of its local steps.
# For: fairness.
import fedhive as fh

share = fh.key("lambda", 0.5, least=0, below=1, doc="strength, as a share of the largest (λ / λ_max)")


@fh.weight
def weight(k):
    p = k.n / fh.sum(k.n)
    r = 2 * fh.rank(k.sent_loss) - (k.count - 1)
    return p + share * fh.min(p) / fh.maximum(k.count - 1, 1) * r
