# Multi-Krum: Blanchard et al. 2017 (arXiv:1703.02757), section 5: the mean of the m updates with the smallest scores.
# An update's score is the sum of |u_k - u_j|^2 over the K - f - 2 updates that are nearest to it.
# For: robust.
import fedhive as fh

f = fh.key("f", 1, least=0, integer=True, doc="how many clients may be Byzantine (f)")
m = fh.key("m", 3, least=1, integer=True, doc="updates that are chosen (m); 1 is Krum")


@fh.weight
def weight(k):
    score = fh.nearest(k.u, fh.maximum(k.count - f - 2, 1))
    return (fh.rank(score) < m) / fh.minimum(m, k.count)
