import fedhive as fh
d = fh.memory("d", of="visit", up=True)
@fh.visit(python=True)
def visit(vector):
    pass
