import fedhive as fh
@fh.server
def server(w, k):
    return w + fh.sum(k.me * k.u)
