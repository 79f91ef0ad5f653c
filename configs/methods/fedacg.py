# FedACG: Kim et al. 2024 (arXiv:2201.03172).
# A visit begins at w_0 = w_t + lambda * m, with F_k(w) + beta/2 * |w - w_0|^2; m <- lambda * m + mean of w_k - w_0, w <- w + m.
# Since u_k counts from w_t, lambda * m + mean of w_k - w_0 is u itself.
# For: optimisation.
import fedhive as fh

ahead = fh.key("lambda", 0.85, least=0, below=1, doc="how far ahead a visit begins (λ)")
beta = fh.key("beta", 0.001, least=0, doc="pull to where the visit began (β)")
m = fh.memory("m", of="server", down=True)


@fh.start
def start(w_t, m):
    return w_t + ahead * m


@fh.gradient
def gradient(g, w, w_0):
    return g + beta * (w - w_0)


@fh.server
def server(w, u, m):
    return {"w": w + u, m: u}
