import fedhive as fh
@fh.server
def server(w, k):
    return w + fh.sum(k.n * k.u) / fh.sum(k.n) - fh.mean(k.u)
