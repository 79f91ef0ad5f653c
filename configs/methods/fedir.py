# FedIR: Hsu, Qi and Brown 2020 (arXiv:2003.08082), equation 3: an example counts p(y) / p_k(y), so that classes count as they do among all clients.
# Differs: p(y), the share of a class among all clients, is taken as even.
# For: losses.
import fedhive as fh


@fh.loss
def loss(out, y, counts):
    return fh.mean(counts) / fh.sum(counts * fh.one_hot(y)) * fh.cross_entropy(out.logits, y)
