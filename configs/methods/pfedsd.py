# pFedSD: Jin et al. 2023 (IEEE TPDS 34(2)), personal self-distillation: the model that the client had when its last visit ended teaches.
# cross-entropy + lambda * KL(teacher, student) at the temperature tau. It is the client's trained model that evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

weight_of = fh.key("lambda", 0.1, least=0, doc="weight of the distillation (λ)")
tau       = fh.key("tau", 3.0, above=0, doc="temperature (τ)")
own       = fh.memory("own", of="client", first="w_t")

@fh.loss(also_at={"before": own})
def loss(out, y, before):
    return fh.cross_entropy(out.logits, y) + weight_of * fh.kl(fh.log_softmax(before.logits / tau), fh.log_softmax(out.logits / tau))

@fh.end
def end(w):
    return {own: w}

@fh.judge
def judge(own):
    return own
