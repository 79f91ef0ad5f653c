# SLSGD: Xie, Koyejo and Gupta 2019 (arXiv:1903.06996), Algorithm 1: w <- (1 - alpha) * w + alpha * Aggr(w_k).
# Aggr is the run's aggregator: mean is the paper's option I, trimmed_mean its option II.
# For: robust.
import fedhive as fh

alpha = fh.key("alpha", 0.8, above=0, most=1, doc="share of what clients give (α)")


@fh.server
def server(w, u):
    return (1 - alpha) * w + alpha * (w + u)
