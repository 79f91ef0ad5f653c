import fedhive as fh
r = fh.report("r")
@fh.end
def end(u):
    return {r: abs(u)}
