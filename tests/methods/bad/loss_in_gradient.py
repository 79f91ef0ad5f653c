import fedhive as fh
@fh.gradient
def gradient(g, w):
    return g + fh.log_softmax(w)
