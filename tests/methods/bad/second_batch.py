import fedhive as fh

@fh.second(batch="other")
def second(g, w):
    return w + g
