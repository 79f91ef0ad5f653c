import fedhive as fh
lr = fh.key("lr", 0.1)

@fh.gradient
def gradient(g):
    return g
