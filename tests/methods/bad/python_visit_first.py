import fedhive as fh
m = fh.memory("m", of="client", shape="number", first=2)
@fh.visit(python=True)
def visit(vector):
    pass
