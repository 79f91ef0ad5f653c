import fedhive as fh
mu = fh.key("μ", 0.1)

@fh.gradient
def gradient(g):
    return g
