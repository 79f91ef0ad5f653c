# FedRep: Collins et al. 2021 (arXiv:2102.07078), Algorithm 1: first the head, model.local, which stays with the client, then the body.
# For an optimiser without momentum.
# For: personal.
import fedhive as fh

head = fh.key("head", 0.5, above=0, below=1, doc="share of a visit's steps that train the head: τ / (τ + 1) for τ epochs of it and one of the body")


@fh.gradient
def gradient(g, local, step, steps):
    return g * fh.where(step < head * steps, local, 1 - local)
