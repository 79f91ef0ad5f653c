# D-PSGD: Lian et al. 2017 (arXiv:1705.09056), Algorithm 1, on a ring by client id, with local steps: w_i <- sum of W_ij w_j over i and its two neighbours.
# Differs: clients mix the models that their local steps give; in the paper each step's gradient is added to the mixture of the models before it.
# Nobody averages all models: the global model is their mean, for evaluation alone. training.cohort must be all clients, or a ring has holes.
# For: optimisation.
import fedhive as fh

share = fh.key("share", 0.3333333333333333, above=0, most=0.5, doc="weight of each neighbour (W_ij); the client's own is the rest")
own   = fh.memory("own", of="client", first="w_t")

@fh.start
def start(own):
    return own

@fh.mix
def mix(k, clients, w_t):
    apart = fh.abs(k.id - fh.sum(k.id * k.me))
    beside = share * fh.maximum(apart == 1, apart == clients - 1)
    return {own: w_t + fh.sum((beside + k.me * (1 - fh.sum(beside))) * k.u)}

@fh.judge
def judge(own):
    return own
