# Delta-FL: Pillutla, Laguel, Malick and Harchaoui 2021 (arXiv:2112.09429), Algorithm 1: only the clients with the highest losses count, by their examples.
# The loss is that of the model that was sent.
# For: fairness.
import fedhive as fh

tail = fh.key("tail", 0.5, above=0, most=1, doc="share of the cohort that counts (θ)")


@fh.weight
def weight(k):
    counted = k.n * (fh.rank(k.sent_loss) >= (1 - tail) * k.count)
    return counted / fh.sum(counted)
