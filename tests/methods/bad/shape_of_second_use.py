import fedhive as fh
v = fh.memory("v", of="client")
r = fh.report("r")
@fh.end
def end(u, v):
    length = fh.norm(u) + fh.mean(v)
    again = fh.norm(u)
    return {r: length, v: again}
