# FedAtt: Ji et al. 2019 (arXiv:1812.07108): w <- w + eps * sum a_k * (w_k - w), a = softmax of the distances |w_k - w|.
# Differs: one distance for the whole model; the paper has one for each layer.
# For: optimisation.
import fedhive as fh

eps = fh.key("eps", 1.2, above=0, doc="step towards the clients' models (ε)")


@fh.server
def server(w, k):
    attention = fh.softmax(fh.norm(k.u))
    return w + eps * fh.sum(attention * k.u)
