# APFL: Deng, Kamani and Mahdavi 2020 (arXiv:2003.13461), Algorithm 1, with a fixed alpha.
# A client's own model is alpha * v + (1 - alpha) * w; v follows the gradient there. It is this mixture that evaluation.clients.personalized judges.
# Differs: v steps by plain SGD, at w before w's own step.
# For: personal.
import fedhive as fh

alpha = fh.key("alpha", 0.25, least=0, most=1, doc="share of the client's own part (α)")
v = fh.memory("v", of="client", first="w_t")


@fh.second
def second(w, v):
    return alpha * v + (1 - alpha) * w


@fh.gradient
def gradient(g, g_2, v, lr):
    return {"g": g, v: v - lr * alpha * g_2}


@fh.judge
def judge(w_t, v):
    return alpha * v + (1 - alpha) * w_t
