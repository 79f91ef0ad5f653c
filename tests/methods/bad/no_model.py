import fedhive as fh
v = fh.memory("v", of="server")
@fh.server
def server(u, v):
    return {v: u + v}
