import fedhive as fh
@fh.server(python=True)
def server(w, u):
    return w + u
