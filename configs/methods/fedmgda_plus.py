# FedMGDA+: Hu et al. 2022 (arXiv:2006.11489), Algorithm 1: the shortest combination of normalised updates, by weights near the clients' shares.
# lambda = argmin |sum lambda_k * u_k / |u_k||^2, sum lambda_k = 1, |lambda_k - p_k| <= eps.
# For: fairness.
import fedhive as fh

eps = fh.key("eps", 0.1, least=0, most=1, doc="how far a weight may be from its share (ε)")


@fh.weight
def weight(k):
    length = fh.norm(k.u)
    return fh.where(length > 0, fh.shortest(k.u, k.n / fh.sum(k.n), eps) / length, 0)
