import fedhive as fh
P = fh.memory("P", of="client", shape="features")
@fh.visit(python=True)
def visit(vector):
    pass
