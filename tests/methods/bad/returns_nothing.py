import fedhive as fh
@fh.gradient
def gradient(g):
    g * 2
