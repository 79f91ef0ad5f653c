import fedhive as fh
own = fh.memory("own", of="client", first="w_t")
@fh.mix
def mix(k, w_t):
    return {own: w_t + fh.sum(k.n * k.u) + fh.sum(k.steps * k.u)}
