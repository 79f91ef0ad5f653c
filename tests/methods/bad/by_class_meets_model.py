import fedhive as fh
P = fh.memory("P", of="server", down=True, shape="features")
@fh.server
def server(w, u, P):
    return {"w": w + u * P, P: P}
