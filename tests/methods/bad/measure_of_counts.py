import fedhive as fh
m = fh.memory("m", of="visit", up=True, shape="classes")
@fh.measure
def measure(out, y, counts):
    return {m: counts[y]}
