import fedhive as fh
@fh.gradient
def gradient(g, lr):
    return g / fh.norm(lr)
