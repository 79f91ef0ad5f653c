import fedhive as fh
beta = fh.key("beta", 1.0, least=0, above=0)

@fh.gradient
def gradient(g):
    return g
