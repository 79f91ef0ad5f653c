import fedhive as fh
v = fh.memory("v", of="server")
@fh.weight
def weight(k, v):
    return k.n * fh.norm(v)
