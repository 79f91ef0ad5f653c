# FedRecon: Singhal et al. 2021 (arXiv:2102.03448), Algorithm 1: the local part, model.local, begins anew in each visit and is trained first, then the rest.
# Differs: the local part begins at 0; both parts see the same examples. For an optimiser without momentum.
# For: personal.
import fedhive as fh

head = fh.key("head", 0.5, above=0, below=1, doc="share of a visit's steps that train the local part")


@fh.start
def start(w_t, local):
    return w_t * (1 - local)


@fh.gradient
def gradient(g, local, step, steps):
    return g * fh.where(step < head * steps, local, 1 - local)
