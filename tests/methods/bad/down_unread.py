import fedhive as fh
v = fh.memory("v", of="server", down=True)
@fh.server
def server(w, u, v):
    return {"w": w + u + v, v: u}
