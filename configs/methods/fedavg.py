# FedAvg: McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1: w <- sum n_k / n * w_k, n the examples of those who came.
# For: optimisation.
import fedhive as fh


@fh.weight
def weight(k):
    return k.n / fh.sum(k.n)
