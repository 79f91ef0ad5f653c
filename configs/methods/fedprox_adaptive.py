# FedProx with mu adapted: Li et al. 2020 (arXiv:1812.06127), section 5.3.2: mu grows by 0.1 where the loss rises, and shrinks by 0.1 where it has fallen
# in five rounds one after the other. The loss is that of the model that was sent, on the cohort's examples.
# For: optimisation.
import fedhive as fh

first = fh.key("mu", 1.0, least=0, doc="first pull to the model that was sent (μ)")
by = fh.key("by", 0.1, least=0, doc="by how much it grows or shrinks")
patience = fh.key("patience", 5, least=1, integer=True, doc="rounds of falling loss before it shrinks")
pull = fh.memory("pull", of="server", shape="number", first=first)
last = fh.memory("last", of="server", shape="number", first=1e30)
falls = fh.memory("falls", of="server", shape="number")


@fh.gradient
def gradient(g, w, w_t, pull):
    return g + pull * (w - w_t)


@fh.server
def server(w, u, pull, last, falls, k):
    loss = fh.sum(k.n * k.sent_loss) / fh.sum(k.n)
    rises = loss > last
    fallen = (1 - rises) * (falls + 1)
    ripe = fallen >= patience
    return {"w": w + u, "pull": fh.maximum(pull + by * rises - by * ripe, 0), "falls": (1 - ripe) * fallen, "last": loss}
