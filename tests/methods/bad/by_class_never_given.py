import fedhive as fh
S = fh.memory("S", of="visit", up=True, shape="features")
@fh.server
def server(w, u, S):
    return w + u
