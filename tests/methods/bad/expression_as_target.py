import fedhive as fh
v = fh.memory("v", of="client")
@fh.end
def end(u, v):
    return {v + u: u}
