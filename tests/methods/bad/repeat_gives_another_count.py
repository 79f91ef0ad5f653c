import fedhive as fh
@fh.weight
def weight(k):
    a, b = fh.repeat(3, lambda a, b: a + b, k.n, k.n)
    return a + b
