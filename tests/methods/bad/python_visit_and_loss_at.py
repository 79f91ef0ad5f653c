import fedhive as fh
F = fh.loss_at("F", at="w_t")
@fh.visit(python=True)
def visit(vector):
    pass
