import fedhive as fh
@fh.end
def end(u):
    return 2 * u
