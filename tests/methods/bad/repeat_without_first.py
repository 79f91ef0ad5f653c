import fedhive as fh
@fh.weight
def weight(k):
    return fh.repeat(3, lambda x: x / 2)
