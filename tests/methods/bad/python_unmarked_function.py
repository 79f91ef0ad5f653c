def visit(model, batches):
    pass
