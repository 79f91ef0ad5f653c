# MoFedSAM: Qu et al. 2022 (arXiv:2206.02618), Algorithm 2.
# FedSAM's gradient mixed with D, the mean of (w_t - w_k) / (K * lr) in the last round: beta * g_2 + (1 - beta) * D.
# Differs: the server steps by server_lr * mean of u_k; the paper's rate is server_lr * K * lr.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.05, least=0, doc="length of the step to the second gradient's point (ρ)")
beta = fh.key("beta", 0.1, above=0, most=1, doc="share of the client's own gradient (β)")
D = fh.memory("D", of="server", down=True)
d = fh.memory("d", of="visit", up=True)


@fh.second
def second(g, w):
    return w + rho * g / fh.norm(g)


@fh.gradient
def gradient(g_2, D):
    return beta * g_2 + (1 - beta) * D


@fh.end
def end(w, w_t, steps, lr):
    return {d: (w_t - w) / (steps * lr)}


@fh.server
def server(w, k, server_lr):
    return {"w": w + server_lr * fh.mean(k.u), D: fh.mean(k.d)}
