# DnC: Shejwalkar and Houmansadr 2021 (NDSS), divide-and-conquer: updates far out along the direction in which the cohort differs most are left out.
# s_k = <u_k - mean, v>^2, v the leading right singular vector; each turn leaves out the ceil(c * f) with the largest s_k, and the rest is averaged.
# Differs: inner products make all coordinates cheap, so none are drawn; a turn measures those that the one before has left, and no intersection is taken.
# For: robust.
import fedhive as fh

f = fh.key("f", 1, least=0, integer=True, doc="how many clients may be Byzantine (f)")
c = fh.key("c", 1.0, least=0, doc="updates left out for each of these (c)")
turns = fh.key("turns", 1, least=1, most=100, integer=True, doc="turns; each measures those that are left")


@fh.weight
def weight(k):
    def turn(left):
        kept = fh.maximum(1, fh.sum(left) + fh.floor(-c * f))
        score = fh.where(left > 0, fh.abs(fh.leading(k.u, left)), 2)
        return left * (fh.rank(score) < kept)

    left = fh.repeat(turns, turn, 1 + 0 * k.n)
    return left / fh.sum(left)
