import fedhive as fh
@fh.weight
def weight(k):
    return k.n

@fh.server(python=True)
def server(updates):
    return updates[0]
