import fedhive as fh
c = fh.memory("c", of="server")
F = fh.loss_at("F", at=c)
@fh.start
def start(w_t, F):
    return w_t * F
