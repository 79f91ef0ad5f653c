# FedProx with mu adapted: Li et al. 2020 (arXiv:1812.06127), section 5.3.2: mu grows by 0.1 where the loss rises, and shrinks by 0.1 where it has fallen
# in five rounds one after the other. The loss is that of the model that was sent, on the cohort's examples.
# For: optimisation.
import fedhive as fh

mu = fh.key("mu", 1.0, least=0, doc="first pull to the model that was sent (μ)")
by = fh.key("by", 0.1, least=0, doc="by how much it grows or shrinks")
patience = fh.key("patience", 5, least=1, integer=True, doc="rounds of falling loss before it shrinks")
more = fh.memory("more", of="server", down=True)
last = fh.memory("last", of="server", first=1e30)
falls = fh.memory("falls", of="server")


@fh.gradient
def gradient(g, w, w_t, more):
    return g + (mu + more) * (w - w_t)


@fh.server
def server(w, u, more, last, falls, k):
    loss = fh.sum(k.n * k.sent_loss) / fh.sum(k.n)
    rises = loss > last
    fallen = (1 - rises) * (falls + 1)
    ripe = fallen >= patience
    return {"w": w + u, more: fh.maximum(more + by * rises - by * ripe, -mu), falls: (1 - ripe) * fallen,
            last: fh.where(rises, fh.maximum(last, loss), fh.minimum(last, loss))}  # the loss, in all elements
