# FedIter-HT: Tong et al. 2020 (arXiv:2101.00052), Algorithm 2: as Fed-HT, and each local step keeps the values of largest magnitude, too.
# The step goes to the values that stay of w - lr * g, so the clients' optimiser is plain SGD.
# For: compression.
import fedhive as fh

kept = fh.key("kept", 0.5, above=0, most=1, doc="share of the model's values that stay (τ / d)")

def hard(x):
    return fh.where(fh.abs(x) >= fh.threshold(x, kept), x, 0)

@fh.gradient
def gradient(g, w, lr):
    return (w - hard(w - lr * g)) / lr

@fh.server
def server(w, u):
    return hard(w + u)
