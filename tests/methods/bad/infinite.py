import fedhive as fh
@fh.gradient
def gradient(g):
    return g * float("inf")
