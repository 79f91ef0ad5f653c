import fedhive as fh
@fh.weight
def weight(k):
    return fh.leading(k.n)
