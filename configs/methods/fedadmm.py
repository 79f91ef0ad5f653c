# FedADMM: Gong, Li and Freris 2022 (arXiv:2204.03529).
# F_k(w) + <y_k, w - w_t> + rho/2 * |w - w_t|^2; y_k <- y_k + rho * (w_k - w_t); w <- w + eta * mean of the changes of w_k + y_k / rho.
# Differs: a visit begins at w_t; server_lr is eta.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.1, above=0, doc="pull to the model that was sent (ρ)")
y_k = fh.memory("y_k", of="client")
own = fh.memory("own", of="client", first="w_t")
d = fh.memory("d", of="visit", up=True)


@fh.gradient
def gradient(g, w, w_t, y_k):
    return g + y_k + rho * (w - w_t)


@fh.end
def end(w, w_t, y_k, own):
    y_next = y_k + rho * (w - w_t)
    return {d: w - own + (y_next - y_k) / rho, y_k: y_next, own: w}


@fh.server
def server(w, k, server_lr):
    return w + server_lr * fh.mean(k.d)
