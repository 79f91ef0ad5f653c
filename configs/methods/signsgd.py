# signSGD with majority vote: Bernstein et al. 2019 (arXiv:1810.05291), Algorithm 1: w <- w + rate * sign(sum of sign(u_k)).
# Differs: an update of local steps stands for the paper's gradient.
# For: compression.
import fedhive as fh

vote = fh.memory("vote", of="visit", up=True)


@fh.end
def end(u):
    return {vote: fh.sign(u)}


@fh.server
def server(w, k, server_lr):
    return w + server_lr * fh.sign(fh.sum(k.vote))
