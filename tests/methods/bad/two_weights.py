import fedhive as fh
d = fh.memory("d", of="visit", up=True)
@fh.end
def end(u):
    return {d: fh.sign(u)}
@fh.server
def server(w, k):
    by_n = fh.sum(k.n * k.u)
    by_steps = fh.sum(k.steps * k.d)
    return w + by_n + by_steps
