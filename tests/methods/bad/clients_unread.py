import fedhive as fh
mine = fh.memory('mine', of='server', shape='clients')
@fh.cohort
def cohort(k):
    return {mine: k.mine + 1, 'weight': k.n}
