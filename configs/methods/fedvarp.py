# FedVARP: Jhunjhunwala et al. 2022 (arXiv:2207.14130): w <- w + rate * (mean of all y_j + mean over the cohort of u_k - y_k); y_k <- u_k.
# Differs: a client keeps its y_k itself; in the paper the server keeps all of them.
# For: optimisation.
import fedhive as fh

y_k = fh.memory("y_k", of="client")
d = fh.memory("d", of="visit", up=True)
y_mean = fh.memory("y_mean", of="server")


@fh.end
def end(u, y_k):
    return {d: u - y_k, y_k: u}


@fh.server
def server(w, y_mean, k, server_lr, clients):
    v = y_mean + fh.mean(k.d)
    return {"w": w + server_lr * v, y_mean: y_mean + fh.sum(k.d) / clients}
