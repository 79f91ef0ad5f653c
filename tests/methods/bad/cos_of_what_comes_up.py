import fedhive as fh
d = fh.memory("d", of="visit", up=True)
@fh.end
def end(w):
    return {d: w}
@fh.server
def server(w, k):
    mean = fh.mean(k.u)
    return w + fh.sum(fh.cos(k.d, mean) * k.u) + fh.mean(k.d)
