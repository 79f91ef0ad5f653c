# Fed-HT: Tong et al. 2020 (arXiv:2101.00052), Algorithm 1: of the mean of the clients' models, the server keeps the values of largest magnitude.
# For: compression.
import fedhive as fh

kept = fh.key("kept", 0.5, above=0, most=1, doc="share of the model's values that stay (τ / d)")

@fh.server
def server(w, u):
    mean = w + u
    return fh.where(fh.abs(mean) >= fh.threshold(mean, kept), mean, 0)
