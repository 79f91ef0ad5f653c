import fedhive as fh
mu = fh.key("mu", 1.0)
@fh.cohort
def cohort(k):
    return {"mu": fh.sum(k.n)}
