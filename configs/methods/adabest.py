# AdaBest: Varno et al. 2022 (arXiv:2204.13170), Algorithm 1.
# Client: g - h_k, then h_k <- h_k / (rounds since its last visit) + mu * (w_t - w_k).
# Server: h <- beta * (the last mean model - the mean model), w <- the mean model - h. The last mean model is w + h.
# For: optimisation.
import fedhive as fh

mu = fh.key("mu", 0.02, least=0, doc="how much of its drift a client takes in (μ)")
beta = fh.key("beta", 0.8, least=0, below=1, doc="how much of the mean's way the server adds (β)")
h_k = fh.memory("h_k", of="client")
seen = fh.memory("seen", of="client")
h = fh.memory("h", of="server")


@fh.gradient
def gradient(g, h_k):
    return g - h_k


@fh.end
def end(u, round, h_k, seen):
    since = round + 1 - fh.mean(seen)  # rounds count from 0; all elements of seen are equal
    return {h_k: h_k / since - mu * u, seen: seen + since}


@fh.server
def server(w, h, k):
    h_next = beta * (h - fh.mean(k.u))
    return {"w": w + fh.mean(k.u) - h_next, h: h_next}
