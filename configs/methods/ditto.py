# Ditto: Li et al. 2021 (arXiv:2012.04221), Algorithm 1.
# Beside w, a client trains a model of its own, v, on F_k(v) + lambda/2 * |v - w_t|^2. It is v that evaluation.clients.personalized judges.
# Differs: v steps once for each step of w, by plain SGD and on the same batch.
# For: personal.
import fedhive as fh

pull = fh.key("lambda", 0.1, least=0, doc="pull of the client's own model to the one that was sent (λ)")
v = fh.memory("v", of="client", first="w_t")


@fh.second
def second(v):
    return v


@fh.gradient
def gradient(g, g_2, w_t, v, lr):
    return {"g": g, v: v - lr * (g_2 + pull * (v - w_t))}


@fh.judge
def judge(v):
    return v
