# FedAMP: Huang et al. 2021 (arXiv:2007.03797), Algorithm 1: each client is pulled to a cloud model of its own, in which models near its own weigh more.
# xi_ij = alpha * A'(|w_i - w_j|^2) with A(x) = 1 - exp(-x / sigma); u_i = (1 - sum xi_ij) w_i + sum xi_ij w_j; the client minimises F_i(w) + lambda / (2 alpha) |w - u_i|^2.
# It is the own model that evaluation.clients.personalized judges. Where alpha * clients > sigma, the weight of a client's own model may be negative.
# For: personal.
import fedhive as fh

pull  = fh.key("lambda", 1.0, least=0, doc="pull to the client's cloud model (λ)")
alpha = fh.key("alpha", 10000.0, above=0, doc="step of the server (α_t); too large where the weights of the others exceed 1")
sigma = fh.key("sigma", 1000000.0, above=0, doc="squared distance at which attention has fallen to 1/e (σ)")
own   = fh.memory("own", of="client", first="w_t")
cloud = fh.memory("cloud", of="client", first="w_t")

@fh.start
def start(own):
    return own

@fh.gradient
def gradient(g, w, cloud):
    return g + pull / alpha * (w - cloud)

@fh.end
def end(w):
    return {own: w}

@fh.mix
def mix(k, w_t):
    apart = fh.norm(k.u - fh.sum(k.me * k.u))
    xi = (1 - k.me) * alpha * fh.exp(-apart**2 / sigma) / sigma
    return {cloud: w_t + fh.sum((xi + k.me * (1 - fh.sum(xi))) * k.u)}

@fh.judge
def judge(own):
    return own
