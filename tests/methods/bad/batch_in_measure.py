import fedhive as fh

S = fh.memory("S", of="visit", up=True, shape="features")
P = fh.memory("P", of="server", down=True, shape="features")

@fh.measure
def measure(out, n):
    return {S: fh.batch_mean(out.z) / n}

@fh.server
def server(w, u, P, S):
    return {"w": w + u, P: P + S}
