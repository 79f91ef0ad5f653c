# FedDyn: Acar et al. 2021 (arXiv:2111.04263), Algorithm 1: F_k(w) - <g_k, w> + alpha/2 * |w - w_t|^2; g_k <- g_k - alpha * (w_k - w_t).
# Server: h <- h - alpha/N * sum of updates, w <- mean of w_k - h/alpha. Differs: local steps stand in for the argmin.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 0.01, above=0, doc="pull to the model that was sent (α)")
g_k = fh.memory("g_k", of="client")
h = fh.memory("h", of="server")


@fh.gradient
def gradient(g, w, w_t, g_k):
    return g - g_k + alpha * (w - w_t)


@fh.end
def end(u, g_k):
    return {g_k: g_k - alpha * u}


@fh.server
def server(w, h, k, clients):
    h_next = h - alpha / clients * fh.sum(k.u)
    return {"w": w + fh.mean(k.u) - h_next / alpha, h: h_next}
