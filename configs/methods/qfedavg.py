# q-FedAvg: Li et al. 2020 (arXiv:1905.10497), Algorithm 2: w <- w + sum F_k^q * L * u_k / sum (q * F_k^(q-1) * |L * u_k|^2 + L * F_k^q).
# F_k is the loss of the model that was sent; L is 1 / lr.
# For: fairness.
import fedhive as fh

q = fh.key("q", 1.0, least=0, doc="how much more a client of high loss counts (q)")
L = fh.key("L", 10.0, above=0, doc="Lipschitz constant: 1 / lr (L)")


@fh.server
def server(w, k):
    F = k.sent_loss
    h = fh.sum(q * F ** (q - 1) * (L * fh.norm(k.u)) ** 2 + L * F**q)
    return w + fh.sum(F**q * L * k.u) / h
