import fedhive as fh
mine = fh.memory('mine', of='server', shape='clients')
@fh.cohort
def cohort(k, mine):
    return {mine: mine + 1, 'weight': k.mine}
