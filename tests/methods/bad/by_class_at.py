import fedhive as fh
P = fh.memory("P", of="client", shape="features")
@fh.loss(also_at={"before": P})
def loss(out, before):
    return fh.sum(out.z)
