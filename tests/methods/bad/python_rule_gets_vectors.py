import fedhive as fh
d = fh.memory("d", of="visit", up=True)
@fh.end
def end(u):
    return {d: u}

@fh.server(python=True)
def server(updates):
    return updates[0]
