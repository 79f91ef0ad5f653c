import fedhive as fh
@fh.weight
def weight(k):
    return fh.shortest(k.u, k.n, k.n)
