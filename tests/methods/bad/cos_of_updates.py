import fedhive as fh
@fh.server
def server(w, k):
    return w + fh.sum(fh.cos(k.u, w) * k.u)
