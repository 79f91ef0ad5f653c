# FedInit: Sun, Shen and Tao 2023 (NeurIPS): a visit begins at w_t + beta * (w_t - w_k), away from the client's own last model w_k.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.1, least=0, doc="how far from its own last model a visit begins (β)")
last = fh.memory("last", of="client", first="w_t")


@fh.start
def start(w_t, last):
    return w_t + beta * (w_t - last)


@fh.end
def end(w):
    return {last: w}
