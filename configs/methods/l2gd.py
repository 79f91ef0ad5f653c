# L2GD: Hanzely and Richtárik 2020 (arXiv:2002.05516), Algorithm 1: clients keep models of their own, which are mixed with their mean now and then.
# A visit begins at (1 - mix) * own + mix * w_t; the server takes the mean of the own models. It is the own model that evaluation.clients.personalized judges.
# Differs: each round has the run's local steps, not a drawn number. All clients should take part, as there.
# For: personal.
import fedhive as fh

mix = fh.key("mix", 0.5, least=0, most=1, doc="how far a model goes to the mean (ηλ / (n p))")
own = fh.memory("own", of="client", first="w_t")


@fh.start
def start(w_t, own):
    return (1 - mix) * own + mix * w_t


@fh.end
def end(w):
    return {own: w}


@fh.server
def server(w, k):
    return w + fh.mean(k.u)


@fh.judge
def judge(own):
    return own
