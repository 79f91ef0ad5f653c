import fedhive as fh
c = fh.memory("c", of="server", down=True)
v = fh.memory("v", of="client")
@fh.mix
def mix(k, c):
    return {v: c + fh.mean(k.u)}
