# FedDR: Tran-Dinh et al. 2021 (arXiv:2103.03452), Algorithm 1, for a smooth objective: randomised Douglas-Rachford splitting.
# y_k <- y_k + alpha * (w_t - x_k); x_k <- argmin of F_k(x) + |x - y_k|^2 / (2 * eta); w <- mean over all clients of 2 * x_j - y_j.
# Differs: local steps, from w_t, stand in for the argmin; a client that never came counts with the model that it is first sent.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 1.95, above=0, below=2, doc="relaxation (α)")
eta = fh.key("eta", 1.0, above=0, doc="one over the pull to y (η)")
x_k = fh.memory("x_k", of="client", first="w_t")
y_k = fh.memory("y_k", of="client", first="w_t")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, w, w_t, x_k, y_k):
    return g + (w - (y_k + alpha * (w_t - x_k))) / eta


@fh.end
def end(w, w_t, x_k, y_k):
    y_next = y_k + alpha * (w_t - x_k)
    return {d: 2 * w - y_next - (2 * x_k - y_k), x_k: w, y_k: y_next}


@fh.server
def server(w, k, clients):
    return w + fh.sum(k.d) / clients
