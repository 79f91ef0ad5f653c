import fedhive as fh
d = fh.memory("d", of="visit", up=True)

@fh.gradient
def gradient(g, d):
    return g + d

@fh.end
def end(u):
    return {d: u}
