import fedhive as fh
steps_kept = fh.key("steps_kept", 2.5, integer=True)

@fh.gradient
def gradient(g):
    return g
