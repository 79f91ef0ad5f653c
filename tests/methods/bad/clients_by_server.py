import fedhive as fh
mine = fh.memory('mine', of='server', shape='clients')
@fh.server
def server(w, k):
    return {'w': w + fh.sum(k.mine * k.u), mine: k.mine + 1}
