import fedhive as fh
@fh.server(python=True)
def server(updates):
    return updates[0]

@fh.server
def step(w, u):
    return w + u
