# DoubleSqueeze: Tang et al. 2019 (arXiv:1905.05957), Algorithm 1: both ways are compressed, and both ends add what was lost to what they send next.
# v_k = u_k + e_k, C(v_k) comes up, e_k <- v_k - C(v_k); v = mean of C(v_k) + e, the step is C(v), e <- v - C(v). C is the scaled sign, |v|_1 / P * sign(v).
# Differs: an update of local steps stands for the paper's gradient. Both are stored densely: a real server would get and send a bit for each value.
# For: compression.
import fedhive as fh

e_k  = fh.memory("e_k", of="client")
e    = fh.memory("e", of="server")
sent = fh.memory("sent", of="visit", up=True)

def signs(v):
    return fh.mean(fh.abs(v)) * fh.sign(v)

@fh.end
def end(u, e_k):
    v = u + e_k
    return {sent: signs(v), e_k: v - signs(v)}

@fh.server
def server(w, k, e, server_lr):
    v = fh.mean(k.sent) + e
    return {"w": w + server_lr * signs(v), e: v - signs(v)}
