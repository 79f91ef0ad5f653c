import fedhive as fh
@fh.gradient(python=True)
def gradient(g):
    return g
