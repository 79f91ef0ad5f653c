import fedhive as fh
P = fh.memory("P", of="server", down=True, shape="features")
@fh.gradient
def gradient(g, P):
    return g
