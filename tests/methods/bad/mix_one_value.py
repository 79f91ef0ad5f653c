import fedhive as fh
v = fh.memory("v", of="client")
@fh.mix
def mix(k, w_t):
    return w_t + fh.mean(k.u)
