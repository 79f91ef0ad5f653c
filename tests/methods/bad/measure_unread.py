import fedhive as fh
S = fh.memory("S", of="visit", up=True, shape="features")
@fh.measure
def measure(out):
    return {S: out.z}
