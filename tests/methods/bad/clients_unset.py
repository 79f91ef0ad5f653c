import fedhive as fh
mine = fh.memory('mine', of='server', shape='clients')
@fh.weight
def weight(k):
    return k.mine
