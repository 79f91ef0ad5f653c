import fedhive as fh
@fh.server
def server(w, u, k):
    return w + u + fh.sum(k.n * k.u)
