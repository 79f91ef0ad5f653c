import fedhive as fh
v = fh.memory("v", of="server", first="w_t")

@fh.gradient
def gradient(g):
    return g
