# pFedGraph: Ye et al. 2023 (ICML): each client begins at a mixture of models like its own, and is pulled to its direction.
# Weights a minimise alpha |a - p|^2 - sum of a_j cos(u_i, u_j) on the simplex, p_j = n_j / n; the client minimises F_i(w) - lambda cos(w, mixture).
# Differs: likeness is of the updates since the model that was sent, not since the first one. The authors' code adds lambda times the inner product with the
# sum of the normalised models where the cosine is subtracted here, and counts a cosine above 0.9 as 1. It is the own model that evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

alpha = fh.key("alpha", 0.8, above=0, doc="weight of the examples' shares beside likeness (α)")
pull  = fh.key("lambda", 0.01, least=0, doc="pull to the direction of the client's mixture (λ)")
cloud = fh.memory("cloud", of="client", first="w_t")
own   = fh.memory("own", of="client", first="w_t")

@fh.start
def start(cloud):
    return cloud

@fh.gradient
def gradient(g, w, cloud):
    lengths = fh.maximum(fh.norm(w) * fh.norm(cloud), 1e-12)
    towards = cloud / lengths - fh.dot(w, cloud) / lengths * w / fh.maximum(fh.dot(w, w), 1e-12)
    return g - pull * towards

@fh.end
def end(w):
    return {own: w}

@fh.mix
def mix(k, w_t):
    alike = fh.cos(k.u, fh.sum(k.me * k.u))
    return {cloud: w_t + fh.sum(fh.simplex(k.n / fh.sum(k.n) + alike / (2 * alpha)) * k.u)}

@fh.judge
def judge(own):
    return own
