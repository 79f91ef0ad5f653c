# RFA: Pillutla, Kakade and Harchaoui 2022 (arXiv:1912.13445), Algorithm 2: a smoothed geometric median of the updates.
# Weiszfeld's steps: v <- sum beta_k * u_k, beta_k ~ n_k / max(nu, |v - u_k|); v begins as the mean by examples.
# For: robust.
import fedhive as fh

nu = fh.key("nu", 1e-6, above=0, doc="smallest distance (ν)")
R = fh.key("R", 3, integer=True, least=0, most=10000, doc="Weiszfeld's steps (R)")


@fh.weight
def weight(k):
    def step(beta):
        closeness = k.n / fh.maximum(nu, fh.norm(k.u - fh.sum(beta * k.u)))
        return closeness / fh.sum(closeness)

    return fh.repeat(R, step, k.n / fh.sum(k.n))
