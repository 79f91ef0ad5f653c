# EF21: Richtárik, Sokolov and Fatkhullin 2021 (arXiv:2106.05203): C(u_k - g_k) comes up and is added to g_k; g <- g + its mean.
# Differs: C is the scaled sign; an update of local steps stands for the paper's gradient. All clients should take part, as there.
# For: compression.
import fedhive as fh

g_k = fh.memory("g_k", of="client")
sent = fh.memory("sent", of="visit", up=True)
mean_g = fh.memory("mean_g", of="server")


@fh.end
def end(u, g_k):
    ahead = u - g_k
    signs = fh.mean(fh.abs(ahead)) * fh.sign(ahead)
    return {sent: signs, g_k: g_k + signs}


@fh.server
def server(w, mean_g, k, server_lr, clients):
    g_next = mean_g + fh.sum(k.sent) / clients
    return {"w": w + server_lr * g_next, mean_g: g_next}
