import fedhive as fh
norm = fh.key("norm", 0.1)

@fh.gradient
def gradient(g):
    return g
