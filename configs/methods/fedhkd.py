# FedHKD: Chen, Zhang and Vikalo 2023 (arXiv:2301.08968), Algorithm 1: a class's mean features H and mean soft answers Q travel, and pull the clients'.
# Differs: it is the answers to the examples that are pulled to Q, where the paper pulls the head's answer to H itself. What is sent has no noise; features
# that are sent are at most zeta long. Clients count by their examples of a class; a class that nobody sends keeps its means.
# For: losses.
import fedhive as fh

lambda_ = fh.key("lambda", 0.05, least=0, doc="pull of the answers to the class's mean answer (λ)")
gamma = fh.key("gamma", 0.05, least=0, doc="pull of the features to the class's mean features (γ)")
T = fh.key("T", 0.5, above=0, doc="temperature of the answers (T)")
zeta = fh.key("zeta", 1000.0, above=0, doc="longest features that are sent (ζ)")
nu = fh.key("nu", 0.0, least=0, below=1, doc="a class that is no larger share of a client's examples is not sent (ν)")
H = fh.memory("H", of="server", down=True, shape="features")
Q = fh.memory("Q", of="server", down=True, shape="logits")
known = fh.memory("known", of="server", down=True, shape="classes")
H_k = fh.memory("H_k", of="visit", up=True, shape="features")
Q_k = fh.memory("Q_k", of="visit", up=True, shape="logits")
m = fh.memory("m", of="visit", up=True, shape="classes")


@fh.loss
def loss(out, y, H, Q, known):
    answers = fh.norm(fh.softmax(out.logits / T) - Q[y])
    features = fh.norm(out.z - H[y])
    return fh.cross_entropy(out.logits, y) + known[y] * (lambda_ * answers + gamma * features)


@fh.measure
def measure(out, y, n, counts):
    is_sent = (counts[y] > nu * n) / n  # the server's mean counts a client n times
    return {H_k: is_sent * out.z / fh.maximum(1, fh.norm(out.z) / zeta), Q_k: is_sent * fh.softmax(out.logits / T)}


@fh.end
def end(counts, n):
    return {m: counts * (counts > nu * n) / n}


@fh.server
def server(w, u, H, Q, known, H_k, Q_k, m):
    return {"w": w + u, H: fh.where(m > 0, H_k / m, H), Q: fh.where(m > 0, Q_k / m, Q), known: fh.maximum(known, m > 0)}
