import fedhive as fh
@fh.gradient
def gradient(g):
    return g / fh.norm(g) if fh.norm(g) > 1 else g
