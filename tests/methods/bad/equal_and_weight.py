import fedhive as fh
@fh.weight
def weight(k):
    return k.n
@fh.server
def server(w, k):
    return w + fh.mean(k.u)
