import fedhive as fh
v = fh.memory("v", of="client")
@fh.gradient
def gradient(g, v):
    return g + v
@fh.end
def end(u):
    return {v: u}
@fh.mix
def mix(k, w_t):
    return {v: w_t + fh.mean(k.u)}
