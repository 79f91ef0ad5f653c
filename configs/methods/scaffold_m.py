# SCAFFOLD-M: Cheng et al. 2024 (arXiv:2306.16504), Algorithm 2: SCAFFOLD with momentum in the local steps.
# A step goes along beta * (g - c_k + c) + (1 - beta) * D, D the mean of (w_t - w_k) / (K * lr) in the last round; c_k <- the mean gradient of the visit.
# Differs: the server steps by server_lr * mean of u_k; the paper's rate is server_lr * K * lr.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.1, above=0, most=1, doc="share of the client's own gradient (β)")
c = fh.memory("c", of="server", down=True)
D = fh.memory("D", of="server", down=True)
c_k = fh.memory("c_k", of="client")
seen = fh.memory("seen", of="visit")
d = fh.memory("d", of="visit", up=True)
drift = fh.memory("drift", of="visit", up=True)


@fh.gradient
def gradient(g, steps, c, c_k, D, seen):
    return {"g": beta * (g - c_k + c) + (1 - beta) * D, seen: seen + g / steps}


@fh.end
def end(u, steps, lr, c_k, seen):
    return {d: seen - c_k, c_k: seen, drift: -u / (steps * lr)}


@fh.server
def server(w, c, k, server_lr, clients):
    return {"w": w + server_lr * fh.mean(k.u), c: c + fh.sum(k.d) / clients, D: fh.mean(k.drift)}
