import fedhive as fh
P = fh.memory("P", of="server", down=True, shape="features")
F = fh.memory("F", of="server", down=True, shape="logits")
@fh.server
def server(w, u, P, F):
    return {"w": w + u, P: P + F, F: F}
