import fedhive as fh
c_k = fh.memory("c_k", of="clients")

@fh.gradient
def gradient(g):
    return g
