# Local only: the baseline in Li et al. 2021 (arXiv:2012.04221): each client trains a model of its own, and nobody averages.
# It is the own model that evaluation.clients.personalized judges; the global model stays as it was.
# For: personal.
import fedhive as fh

own = fh.memory("own", of="client", first="w_t")


@fh.start
def start(own):
    return own


@fh.end
def end(w):
    return {own: w}


@fh.server
def server(w):
    return w


@fh.judge
def judge(own):
    return own
