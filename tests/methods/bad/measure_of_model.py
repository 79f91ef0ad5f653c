import fedhive as fh
S = fh.memory("S", of="visit", up=True)
@fh.measure
def measure(out):
    return {S: out.z}
