# Deep gradient compression: Lin et al. 2018 (arXiv:1712.01887), Algorithm 1 with momentum correction and factor masking, on the update of a visit.
# m <- beta * m + u; v <- v + m; the largest values of v come up and are taken out of v and m.
# Differs: an update of local steps stands for the paper's gradient; one threshold is of the whole update, not of each layer; no warm-up of `kept`, and no clipping (training.clip_norm). What comes up is stored densely:
# a real server would get the places and values of `kept` of it.
# For: compression.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="momentum (m)")
kept = fh.key("kept", 0.01, above=0, most=1, doc="share of the values that come up")
m    = fh.memory("m", of="client")
v    = fh.memory("v", of="client")
sent = fh.memory("sent", of="visit", up=True)

@fh.end
def end(u, m, v):
    moving = beta * m + u
    waiting = v + moving
    goes = fh.abs(waiting) >= fh.threshold(waiting, kept)
    return {sent: goes * waiting, v: (1 - goes) * waiting, m: (1 - goes) * moving}

@fh.server
def server(w, k, server_lr):
    return w + server_lr * fh.mean(k.sent)
