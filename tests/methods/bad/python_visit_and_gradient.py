import fedhive as fh
@fh.gradient
def gradient(g):
    return 2 * g

@fh.visit(python=True)
def visit(vector):
    pass
