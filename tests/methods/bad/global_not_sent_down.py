import fedhive as fh
c = fh.memory("c", of="server")
@fh.gradient
def gradient(g):
    return g + c
