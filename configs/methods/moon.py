# MOON: Li, He and Song 2021 (arXiv:2103.16257).
# Differs: z is what the last layer gets; the paper adds a projection head to the model.
# For: losses.
import fedhive as fh

mu = fh.key("mu", 1.0, least=0, doc="weight of the contrast (μ)")
temperature = fh.key("temperature", 0.5, above=0, doc="of the contrast (τ)")
last = fh.memory("last", of="client", first="w_t")


@fh.loss(also_at={"sent": "w_t", "before": last})
def loss(out, y, sent, before):
    # -log(e^(a/τ) / (e^(a/τ) + e^(b/τ))) is -log_sigmoid((a - b) / τ)
    return fh.cross_entropy(out.logits, y) - mu * fh.log_sigmoid((fh.cos(out.z, sent.z) - fh.cos(out.z, before.z)) / temperature)


@fh.end
def end(w):
    return {last: w}
