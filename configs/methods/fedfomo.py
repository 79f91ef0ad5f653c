# FedFomo: Zhang et al. 2021 (arXiv:2012.08565), equations 3 to 5: a client's next start is its own model, moved to others that have less loss for it.
# w_ij = max(0, (L_i(own) - L_i(w_j)) / |w_j - own|), divided by their sum over j; start = own + sum of w_ij (w_j - own).
# Differs: models of a round are compared with the one that the client has trained in it, where the paper has the one before; a client gets all models of
# the round (M is the cohort) and none of earlier ones. L_i is of the examples that the client holds out, which evaluation.clients looks at, too, or of
# those that it trains on if it holds out none. The virtual clock counts the models that go down and a pass forward for each.
# It is the own model that evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

own  = fh.memory("own", of="client", first="w_t")
next_start = fh.memory("next_start", of="client", first="w_t")

@fh.start
def start(next_start):
    return next_start

@fh.end
def end(w):
    return {own: w}

@fh.mix
def mix(k, w_t):
    apart = fh.norm(k.u - fh.sum(k.me * k.u))
    better = fh.relu(fh.sum(k.me * k.their_loss) - k.their_loss) / fh.maximum(apart, 1e-6)
    share = better / fh.maximum(fh.sum(better), 1e-30)
    return {next_start: w_t + fh.sum((share + k.me * (1 - fh.sum(share))) * k.u)}

@fh.judge
def judge(own):
    return own
