import fedhive as fh
c = fh.memory("c", of="visit")
@fh.after
def after(w, c):
    return {c: c + w}
