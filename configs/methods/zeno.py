# Zeno: Xie, Koyejo and Gupta 2019 (arXiv:1805.10032), to first order: the mean of the n - b updates with the highest <u_k, r> - rho * |u_k|^2.
# r is the update of the server's own client, which trains on data.root_examples.
# For: robust.
import fedhive as fh

b = fh.key("b", 1, least=0, integer=True, doc="updates that are left out (b)")
rho = fh.key("rho", 0.005, least=0, doc="what is taken off for an update's squared length (ρ)")


@fh.weight
def weight(k, root):
    left = fh.maximum(k.count - b, 1)
    negated = rho * fh.norm(k.u) ** 2 - fh.dot(k.u, root.u)
    return (fh.rank(negated) < left) / left
