# FedEMA: Zhuang, Wen and Zhang 2022 (ICLR).
# A visit begins at mu * w_k + (1 - mu) * w_t, mu = min(lambda * |w_t - w_k|, 1), w_k the client's own last model.
# Differs: lambda is a key; any loss goes with it, the paper's is self-supervised.
# For: personal.
import fedhive as fh

scale = fh.key("lambda", 0.1, least=0, doc="how fast distance makes a client keep its own model (λ)")
last = fh.memory("last", of="client", first="w_t")


@fh.start
def start(w_t, last):
    mu = fh.minimum(scale * fh.norm(w_t - last), 1)
    return mu * last + (1 - mu) * w_t


@fh.end
def end(w):
    return {last: w}
