# FedAvgM: Hsu et al. 2019 (arXiv:1909.06335): v <- beta * v + mean of the updates, w <- w + v.
# Differs: server_lr scales the step; 1 is the paper's.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="share of the last step that is kept (β)")
v = fh.memory("v", of="server")


@fh.server
def server(w, u, v, server_lr):
    velocity = beta * v + u
    return {"w": w + server_lr * velocity, v: velocity}
