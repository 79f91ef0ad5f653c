import fedhive as fh
@fh.weight
def weight(k):
    return fh.repeat(3, lambda x: fh.repeat(2, lambda y: x + y, k.n), k.n)
