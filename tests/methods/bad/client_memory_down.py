import fedhive as fh
c_k = fh.memory("c_k", of="client", down=True)

@fh.gradient
def gradient(g):
    return g
