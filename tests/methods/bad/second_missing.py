import fedhive as fh

@fh.gradient
def gradient(g, g_2):
    return g + g_2
