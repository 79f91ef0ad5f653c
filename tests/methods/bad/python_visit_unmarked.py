import fedhive as fh
@fh.visit
def visit(vector):
    pass
