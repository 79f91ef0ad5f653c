import fedhive as fh
@fh.after
def after(w, g):
    return w - g
