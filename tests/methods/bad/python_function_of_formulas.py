import fedhive as fh
mu = fh.sqrt(fh.key("mu", 1))
@fh.server(python=True)
def server(updates):
    return updates[0]
