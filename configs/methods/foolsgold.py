# FoolsGold: Fung, Yoon and Beschastnikh 2020 (arXiv:1808.04866), Algorithm 1: clients whose summed updates h_k resemble another's count less.
# c_ij = cos(h_i, h_j), v_i = max_j c_ij; c_ij <- c_ij * v_i / v_j where v_j > v_i; alpha_i = 1 - max_j c_ij, by its largest, then by a logit.
# Differs: weights are divided by their sum; all parameters count alike; v_i is at least 0, as in the authors' program; alpha below 1e-5 is 0.
# For: robust.
import fedhive as fh

kappa = fh.key("kappa", 1.0, above=0, doc="confidence (κ)")
past = fh.memory("past", of="client")
h = fh.memory("h", of="visit", up=True)


@fh.end
def end(u, past):
    return {past: past + u, h: past + u}


@fh.weight
def weight(k):
    alone = fh.maximum(0, 1 - fh.closest(k.h, fh.closest(k.h)))
    alpha = fh.where(alone < 1e-5, 0, alone)
    alpha = fh.where(fh.max(alpha) > 0, alpha / fh.max(alpha), 0)
    logit = fh.clip(kappa * (fh.log(alpha / (1 - alpha)) + 0.5), 0, 1)
    alpha = fh.where(alpha <= 0, 0, fh.where(alpha >= 1, 1, logit))
    return fh.where(fh.sum(alpha) > 0, alpha / fh.sum(alpha), 0)
