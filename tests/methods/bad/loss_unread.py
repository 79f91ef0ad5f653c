import fedhive as fh
F = fh.loss_at("F", at="w_t")
@fh.gradient
def gradient(g):
    return g
