import fedhive as fh
@fh.end
def end(u, k):
    return {"u": u}
