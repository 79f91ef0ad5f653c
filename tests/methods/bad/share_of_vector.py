import fedhive as fh
@fh.gradient
def gradient(g, w):
    return fh.where(fh.abs(g) > fh.threshold(g, w), g, 0)
