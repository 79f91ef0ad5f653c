# Per-FedAvg, first order: Fallah, Mokhtari and Ozdaglar 2020 (arXiv:2002.07948), Algorithm 1, without second derivatives.
# A local step goes along the gradient, on the next batch, at w - alpha * g: where one step on this batch leads. A client's own model is what
# evaluation.clients.personalized makes of w by itself: one local epoch.
# For: personal.
import fedhive as fh

alpha = fh.key("alpha", 0.01, least=0, doc="rate of the step that the model is made for (α)")


@fh.second(batch="next")
def second(g, w):
    return w - alpha * g


@fh.gradient
def gradient(g_2):
    return g_2
