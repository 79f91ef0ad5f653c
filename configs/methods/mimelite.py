# MimeLite with momentum: Karimireddy et al. 2020 (arXiv:2008.03606), Algorithm 1 with SGDm of Table 1.
# A local step goes along (1 - beta) * g + beta * m with the server's m, which takes in the clients' mean gradients at w_t.
# Differs: the server steps by server_lr * mean of u_k; the paper's takes the mean of the models, server_lr = 1.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="momentum (β)")
m = fh.memory("m", of="server", down=True)
full = fh.memory("full", of="visit", up=True)


@fh.gradient
def gradient(g, m):
    return (1 - beta) * g + beta * m


@fh.end
def end(g_t):
    return {full: g_t}


@fh.server
def server(w, k, m, server_lr):
    return {"w": w + server_lr * fh.mean(k.u), m: (1 - beta) * fh.mean(k.full) + beta * m}
