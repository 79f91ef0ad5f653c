import fedhive as fh
@fh.server
def server(w, k, server_lr):
    p = k.n / fh.sum(k.n)
    return w + fh.sum(server_lr * p * k.u)
