import fedhive as fh
v = fh.memory("v", of="server")
@fh.server(python=True)
def server(updates):
    return updates[0]
