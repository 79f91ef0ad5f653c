import fedhive as fh
beta = fh.key("beta", 1.0, least=0, below=1)

@fh.gradient
def gradient(g):
    return g
