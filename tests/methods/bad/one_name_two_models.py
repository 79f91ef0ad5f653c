import fedhive as fh
c = fh.memory("c", of="client", shape="number")
@fh.loss(also_at={"sent": "w_t"})
def loss(out, y, sent):
    return fh.cross_entropy(out.logits - sent.logits, y)
@fh.measure(also_at={"sent": "w_0"})
def measure(sent, y):
    return {c: fh.pick(sent.logits, y)}
