# EF21-SGDM: Fatkhullin, Tyurin and Richtárik 2023 (arXiv:2305.15155), Algorithm 1: EF21 of a momentum.
# v_k <- (1 - eta) * v_k + eta * u_k; C(v_k - g_k) comes up and is added to g_k; g <- g + its mean.
# Differs: C is the scaled sign; an update of local steps stands for the paper's gradient. All clients should take part, as there.
# For: compression.
import fedhive as fh

eta = fh.key("eta", 0.1, above=0, most=1, doc="share of the new update in the momentum (η)")
v_k = fh.memory("v_k", of="client")
g_k = fh.memory("g_k", of="client")
sent = fh.memory("sent", of="visit", up=True)
mean_g = fh.memory("mean_g", of="server")


@fh.end
def end(u, v_k, g_k):
    v_next = (1 - eta) * v_k + eta * u
    ahead = v_next - g_k
    signs = fh.mean(fh.abs(ahead)) * fh.sign(ahead)
    return {sent: signs, g_k: g_k + signs, v_k: v_next}


@fh.server
def server(w, mean_g, k, server_lr, clients):
    g_next = mean_g + fh.sum(k.sent) / clients
    return {"w": w + server_lr * g_next, mean_g: g_next}
