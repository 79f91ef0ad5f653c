import fedhive as fh
d = fh.memory("d", of="visit", up=True)
@fh.end
def end(u):
    return {d: fh.sign(u)}
@fh.weight
def weight(k):
    near = fh.dot(k.u, fh.mean(k.u))
    return near * fh.dot(k.d, fh.mean(k.d))
