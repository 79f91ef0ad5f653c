# FedAdp: Wu and Wang 2021 (arXiv:2012.00661): updates that point the way of the mean count more.
# theta_k is the mean, over the rounds of client k, of the angle between u_k and the round's mean; weights n_k * exp(alpha * (1 - exp(-exp(-alpha * (theta_k - 1))))).
# Differs: clients take local steps, and the angle is between updates, not gradients.
# For: optimisation.
import fedhive as fh

alpha = fh.key("alpha", 5.0, above=0, doc="steepness of the weight in the angle (α)")
theta = fh.memory("theta", of="server", shape="clients")
rounds = fh.memory("rounds", of="server", shape="clients")


def arccos(c):
    def halved(s):  # the squared sine of half the angle
        return s / (2 + 2 * fh.sqrt(1 - s))

    return 2**27 * fh.sqrt(fh.repeat(26, halved, (1 - c) / 2))


@fh.cohort
def cohort(k):
    mean = fh.sum(k.n / fh.sum(k.n) * k.u)
    angle = arccos(fh.clip(fh.cos(k.u, mean), -1, 1))
    smooth = k.theta + (angle - k.theta) / (k.rounds + 1)
    p = k.n * fh.exp(alpha * (1 - fh.exp(-fh.exp(-alpha * (smooth - 1)))))
    return {"weight": p / fh.sum(p), theta: smooth, rounds: k.rounds + 1}
