# FedExP: Jhunjhunwala et al. 2023 (arXiv:2301.09604): w <- w + rate * mean(u_k), rate = max(1, sum |u_k|^2 / (2M * (|mean(u_k)|^2 + eps))).
# For: optimisation.
import fedhive as fh

eps = fh.key("eps", 0.001, above=0, doc="bounds the rate where updates cancel (ε)")


@fh.server
def server(w, k):
    mean_update = fh.mean(k.u)
    rate = fh.maximum(1, fh.sum(fh.norm(k.u) ** 2) / (2 * k.count * (fh.norm(mean_update) ** 2 + eps)))
    return w + rate * mean_update
