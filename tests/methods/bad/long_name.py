import fedhive as fh
mu = fh.key("pull_to_the_global_model", 0.1)

@fh.gradient
def gradient(g):
    return g
