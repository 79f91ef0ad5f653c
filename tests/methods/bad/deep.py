import fedhive as fh
@fh.gradient
def gradient(g, w):
    for _ in range(40):
        g = 0.5 * (g + w)
    return g
