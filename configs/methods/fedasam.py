# FedASAM: Caldarola, Caputo and Ciccone 2022 (arXiv:2203.11834): adaptive sharpness-aware minimisation at the clients.
# A local step goes along the gradient at w + rho * T^2 g / |T g|, on the same batch, T = |w| + eta for each element.
# Differs: the server takes the mean of the round; the paper also averages the models of the last rounds (SWA).
# For: optimisation.
import fedhive as fh

rho = fh.key("rho", 0.7, least=0, doc="length of the step to the second gradient's point (ρ)")
eta = fh.key("eta", 0.2, least=0, doc="least scale of an element (η)")


@fh.second
def second(g, w):
    T = fh.abs(w) + eta
    return w + rho * T**2 * g / fh.norm(T * g)


@fh.gradient
def gradient(g_2):
    return g_2
