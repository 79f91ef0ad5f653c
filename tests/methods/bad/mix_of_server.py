import fedhive as fh
c = fh.memory("c", of="server", down=True)
@fh.mix
def mix(k, w_t):
    return {c: w_t + fh.mean(k.u)}
