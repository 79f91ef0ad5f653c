import fedhive as fh
v = fh.memory("v", of="server")
m = fh.memory("m", of="server", first=2 * v)

@fh.gradient
def gradient(g):
    return g
