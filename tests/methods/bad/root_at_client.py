import fedhive as fh
@fh.end
def end(u, root):
    return {fh.report("x"): fh.cos(u, root.u)}
