# RSA with the l1 norm: Li et al. 2019 (arXiv:1811.03761), Algorithm 2: models are drawn together by signs, so that an attacker counts no more than others.
# Client: w_k <- w_k - lr * (g + lambda * sign(w_k - w_t)), from its own last model. Server: w <- w + lr * lambda * sum of sign(w_k - w).
# Differs: the server steps once a round, without a regulariser of its own. For plain SGD.
# For: robust.
import fedhive as fh

strength = fh.key("lambda", 0.07, above=0, doc="how strongly models attract each other (λ)")
own = fh.memory("own", of="client", first="w_t")
vote = fh.memory("vote", of="visit", up=True)
rate = fh.report("rate", doc="the client's local rate")


@fh.start
def start(own):
    return own


@fh.gradient
def gradient(g, w, w_t):
    return g + strength * fh.sign(w - w_t)


@fh.end
def end(w, u, lr):
    return {own: w, vote: fh.sign(u), rate: lr}


@fh.server
def server(w, k):
    return w + fh.mean(k.rate) * strength * fh.sum(k.vote)
