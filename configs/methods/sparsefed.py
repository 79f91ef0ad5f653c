# SparseFed: Panda et al. 2022 (AISTATS, arXiv:2112.06274), Algorithm 1: clipped updates; of momentum and error feedback the server takes the largest values.
# m <- rho * m + mean of u_k / max(1, |u_k| / L); e <- e + m; the largest values of e are the step, and are taken out of e and m.
# That they leave m is momentum factor masking, as in FetchSGD (arXiv:2007.07682).
# For: robust.
import fedhive as fh

L    = fh.key("L", 1.0, above=0, doc="norm that no update exceeds")
rho  = fh.key("rho", 0.9, least=0, below=1, doc="momentum (ρ)")
kept = fh.key("kept", 0.1, above=0, most=1, doc="share of the values that a round changes (k / d)")
m    = fh.memory("m", of="server")
e    = fh.memory("e", of="server")

@fh.weight
def weight(k):
    return 1 / (k.count * fh.maximum(1, k.norm / L))

@fh.server
def server(w, u, m, e, server_lr):
    moving = rho * m + u
    error = e + server_lr * moving
    taken = fh.abs(error) >= fh.threshold(error, kept)
    return {"w": w + taken * error, e: (1 - taken) * error, m: (1 - taken) * moving}
