import fedhive as fh
@fh.weight
def weight(k, root):
    return k.n * fh.cos(fh.mean(k.u), root.u)
