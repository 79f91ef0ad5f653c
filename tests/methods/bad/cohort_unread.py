import fedhive as fh
@fh.cohort
def cohort(k):
    return {"examples": fh.sum(k.n)}
@fh.server
def server(w, u):
    return w + u
