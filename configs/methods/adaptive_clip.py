# Adaptive clipping: Andrew et al. 2021 (arXiv:1905.03871), Algorithm 1.
# u_k * min(1, C / |u_k|) comes up; C <- C * e^(-rate * (share of |u_k| <= C - quantile)).
# Differs: no noise is added.
# For: privacy.
import fedhive as fh

first_clip = fh.key("first_clip", 0.1, above=0, doc="C in the first round")
quantile = fh.key("quantile", 0.5, least=0, most=1, doc="share of updates that C leaves whole (γ)")
rate = fh.key("rate", 0.2, above=0, doc="how fast C moves (η_C)")
C = fh.memory("C", of="server", shape="number", first=first_clip)
clipped = fh.memory("clipped", of="visit", up=True)
whole = fh.report("whole", doc="1 if the update is at most C long, else 0")


@fh.end
def end(u, C):
    return {clipped: u * fh.minimum(1, C / fh.norm(u)), whole: fh.norm(u) <= C}


@fh.server
def server(w, C, k, server_lr):
    return {"w": w + server_lr * fh.mean(k.clipped), "C": C * fh.exp(-rate * (fh.mean(k.whole) - quantile))}
