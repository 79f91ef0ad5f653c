import fedhive as fh
@fh.end
def end(w,
        wt):
    return {"w": w}
