import fedhive as fh
v = fh.memory("v", of="client")

@fh.gradient
def gradient(g, v):
    return {v: v + g}
