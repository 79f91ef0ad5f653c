# FedSMOO: Sun et al. 2023 (arXiv:2305.11584), Algorithm 1: FedDyn's dynamic regularisation for the models and for SAM's perturbations.
# s_k = rho * (g - mu_k - s) / |g - mu_k - s|; mu_k <- mu_k + s_k - s; a step goes along g_2 + alpha * (w - w_t + h_k), with g_2 at w + s_k; h_k <- h_k + u_k.
# Server: s <- rho * m / |m| with m the mean of mu_k; w <- mean of w_k + mean of all h_j.
# Differs: m leaves out the last s_k, as the authors' program does; 1e-7 is added to norms.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.1, above=0, doc="length of the perturbation (r)")
alpha = fh.key("alpha", 0.1, above=0, doc="pull to the drifted model (1 / β)")
h_k = fh.memory("h_k", of="client")
mu_k = fh.memory("mu_k", of="client")
s = fh.memory("s", of="server", down=True)
h = fh.memory("h", of="server")
dual = fh.memory("dual", of="visit", up=True)


def perturbation(g, mu_k, s):
    way = g - mu_k - s
    return rho * way / (fh.norm(way) + 1e-7)


@fh.second
def second(g, w, mu_k, s):
    return w + perturbation(g, mu_k, s)


@fh.gradient
def gradient(g, g_2, w, w_t, h_k, mu_k, s):
    return {"g": g_2 + alpha * (w - w_t + h_k), mu_k: mu_k + perturbation(g, mu_k, s) - s}


@fh.end
def end(u, h_k, mu_k):
    return {h_k: h_k + u, dual: mu_k}


@fh.server
def server(w, h, k, clients):
    m = fh.mean(k.dual)
    h_next = h + fh.sum(k.u) / clients
    return {"w": w + fh.mean(k.u) + h_next, h: h_next, s: rho * m / (fh.norm(m) + 1e-7)}
