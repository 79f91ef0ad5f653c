import fedhive as fh
P = fh.memory("P", of="server", down=True, shape="features")
m = fh.memory("m", of="visit", up=True, shape="classes")
@fh.server
def server(w, u, m):
    return {"w": w + u, P: m}
