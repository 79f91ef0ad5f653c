import fedhive as fh
mu = fh.key("mu", 1)
@fh.visit(python=True)
def visit(wights, batches, mu):
    pass
