import fedhive as fh
@fh.weight
def weight(k):
    return k.examples
