# EF21-HB: Fatkhullin et al. 2021 (arXiv:2110.03294): EF21 with heavy-ball momentum at the server: v <- beta * v + g, w <- w + server_lr * v.
# Differs: C is the scaled sign; an update of local steps stands for the paper's gradient. All clients should take part, as there.
# For: compression.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="momentum (η in the paper)")
g_k = fh.memory("g_k", of="client")
sent = fh.memory("sent", of="visit", up=True)
mean_g = fh.memory("mean_g", of="server")
v = fh.memory("v", of="server")


@fh.end
def end(u, g_k):
    ahead = u - g_k
    signs = fh.mean(fh.abs(ahead)) * fh.sign(ahead)
    return {sent: signs, g_k: g_k + signs}


@fh.server
def server(w, mean_g, v, k, server_lr, clients):
    g_next = mean_g + fh.sum(k.sent) / clients
    v_next = beta * v + g_next
    return {"w": w + server_lr * v_next, mean_g: g_next, v: v_next}
