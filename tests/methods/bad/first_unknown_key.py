import fedhive as fh
tau = fh.key("tau", 0.9)
v = fh.memory("v", of="server", first="ta^2")

@fh.gradient
def gradient(g):
    return g
