import fedhive as fh
c_k = fh.memory("c_k", of="client")
@fh.server
def server(w, k):
    return w + fh.mean(k.c_k)
