import fedhive as fh
@fh.cohort
def cohort(k):
    return {"weight": k.n}
@fh.weight
def weight(k):
    return k.steps
