import fedhive as fh

@fh.second
def second(g, w):
    return w + g

@fh.gradient
def gradient(g):
    return g
