# FedCurv: Shoham et al. 2019 (arXiv:1910.07796).
# F_k(w) + lambda * sum over the last round's clients j of (w - w_j)' diag(I_j) (w - w_j), by A = sum of I_j and B = sum of I_j * w_j.
# Differs: I_k is the mean of the squared batch gradients of the visit; a client's own I_k is in the sums.
# For: optimisation.
import fedhive as fh

strength = fh.key("lambda", 0.01, least=0, doc="strength of the penalty (λ)")
A = fh.memory("A", of="server", down=True)
B = fh.memory("B", of="server", down=True)
fisher = fh.memory("fisher", of="visit", up=True)
point = fh.memory("point", of="visit", up=True)


@fh.gradient
def gradient(g, w, A, B, fisher, steps):
    return {"g": g + 2 * strength * (A * w - B), fisher: fisher + g * g / steps}


@fh.end
def end(w, fisher):
    return {point: fisher * w}


@fh.server
def server(w, k):
    return {"w": w + fh.mean(k.u), A: fh.sum(k.fisher), B: fh.sum(k.point)}
