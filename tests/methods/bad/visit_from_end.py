import fedhive as fh
d = fh.memory("d", of="visit")

@fh.end
def end(u):
    return {d: u}
