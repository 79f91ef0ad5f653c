import fedhive as fh
@fh.server
def server(w, k):
    return fh.mean(w + k.u)
