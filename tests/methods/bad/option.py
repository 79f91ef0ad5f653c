import fedhive as fh
@fh.gradient(twice=True)
def gradient(g):
    return g
