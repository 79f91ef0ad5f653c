import fedhive as fh
beta = fh.key("beta", "0.9")

@fh.gradient
def gradient(g):
    return g
