import fedhive as fh
@fh.weight
def weight(k):
    return fh.nearest(k.u, k.n)
