import fedhive as fh
v = fh.memory("v", of="client", first=1)

@fh.gradient
def gradient(g):
    return g
