import fedhive as fh
@fh.gradient
def gradient(g):
    return fh.softmax(g)
