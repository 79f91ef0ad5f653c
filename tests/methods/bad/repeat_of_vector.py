import fedhive as fh
@fh.server
def server(w, k):
    return fh.repeat(3, lambda x: x / 2, w)
