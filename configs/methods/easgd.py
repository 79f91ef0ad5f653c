# Elastic averaging SGD: Zhang, Choromanska and LeCun 2015 (arXiv:1412.6651), synchronous.
# w_k <- w_k - alpha * (w_k - w), w <- w + alpha * sum of w_k - w; a client goes on from its own model.
# Differs: the exchange comes after each visit.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 0.1, above=0, below=1, doc="how strongly the client's and the server's model attract each other (α)")
own = fh.memory("own", of="client", first="w_t")


@fh.start
def start(own):
    return own


@fh.end
def end(w, w_t):
    return {own: w - alpha * (w - w_t)}


@fh.server
def server(w, k):
    return w + alpha * fh.sum(k.u)
