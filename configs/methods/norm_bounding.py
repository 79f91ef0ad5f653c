# Norm bounding: Sun et al. 2019 (arXiv:1911.07963): w <- w + mean of u_k / max(1, |u_k| / M).
# Differs: no noise is added.
# For: robust.
import fedhive as fh

M = fh.key("M", 1.0, above=0, doc="the longest update that counts in full (M)")


@fh.server
def server(w, k, server_lr):
    return w + server_lr * fh.mean(k.u / fh.maximum(1, fh.norm(k.u) / M))
