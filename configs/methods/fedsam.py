# FedSAM: Qu et al. 2022 (arXiv:2206.02618), Algorithm 1.
# A local step goes along the gradient at w + rho * g / |g|, on the same batch.
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.05, least=0, doc="length of the step to the second gradient's point (ρ)")


@fh.second
def second(g, w):
    return w + rho * g / fh.norm(g)


@fh.gradient
def gradient(g_2):
    return g_2
