import fedhive as fh
v = fh.memory("v", of="visit")
@fh.visit(python=True)
def visit(vector):
    pass
