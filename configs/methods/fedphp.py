# FedPHP: Li et al. 2021 (ECML PKDD): each client keeps a moving average of its models, the inherited private model, which teaches its next visit.
# own <- a * own + (1 - a) * w, a = mu * visits / rounds; the loss is (1 - lambda) CE + lambda KL(answers of own, answers) at a temperature.
# Differs: of the paper's ways to teach it is the answers'; visits are counted by the client. It is the inherited model that
# evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

mu      = fh.key("mu", 0.9, least=0, below=1, doc="largest weight of the inherited model in its moving average (μ)")
lambda_ = fh.key("lambda", 0.1, least=0, most=1, doc="weight of what the inherited model teaches (λ)")
tau     = fh.key("tau", 1.0, above=0, doc="temperature of the answers")
rounds  = fh.key("rounds", 10, least=1, integer=True, doc="visits after which the weight is μ; the run's rounds, where all clients take part in each")
own     = fh.memory("own", of="client", first="w_t")
visits  = fh.memory("visits", of="client", shape="number")


@fh.loss(also_at={"old": own})
def loss(out, y, old):
    taught = fh.kl(fh.log_softmax(old.logits / tau), fh.log_softmax(out.logits / tau))
    return (1 - lambda_) * fh.cross_entropy(out.logits, y) + lambda_ * taught


@fh.end
def end(w, own, visits):
    a = mu * fh.minimum(visits / rounds, 1)
    return {own: a * own + (1 - a) * w, visits: visits + 1}


@fh.judge
def judge(own):
    return own
