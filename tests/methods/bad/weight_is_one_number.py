import fedhive as fh
@fh.weight
def weight(k):
    return 1 / fh.sum(k.n)
