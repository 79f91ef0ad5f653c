# TERM: Li et al. 2021 (arXiv:2007.01162), tilted by client: w <- w + sum p_k * u_k, p_k = e^(t * F_k) / sum e^(t * F_j).
# F_k is the loss of the model that was sent. Differs: the cohort stands in for all clients.
# For: fairness.
import fedhive as fh

t = fh.key("t", 1.0, doc="above 0, a client of high loss counts more; below 0, less (t)")


@fh.weight
def weight(k):
    return fh.softmax(t * k.sent_loss)
