import fedhive as fh
d = fh.memory("d", of="visit", up=True)
@fh.end
def end(u, d):
    return {d: d + u}
