# IFCA: Ghosh et al. 2020 (arXiv:2006.04088), Algorithm 1 with averaging of models; HypCluster (arXiv:2002.10619) is the same: there are three models, and a
# client trains the one with the least loss on its examples. Each becomes the mean of those that were trained from it; one that nobody took stays.
# Differs: the global model is the mean of the models; it is the chosen one that evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

models = [fh.memory(name, of="server", down=True, first="drawn") for name in ("m_1", "m_2", "m_3")]
losses = [fh.loss_at(name, at=m) for name, m in zip(("F_1", "F_2", "F_3"), models)]
takes  = [fh.report(name, doc="1 if the client trained this model") for name in ("took_1", "took_2", "took_3")]
mine   = fh.memory("mine", of="client", shape="number")  # of the model that the client took last

def taken():  # 1 for the model with the least loss, the first of several
    F_1, F_2, F_3 = losses
    first = (F_1 <= F_2) * (F_1 <= F_3)
    second = (1 - first) * (F_2 <= F_3)
    return first, second, 1 - first - second

def chosen(number):
    m_1, m_2, m_3 = models
    return fh.where(number == 0, m_1, fh.where(number == 1, m_2, m_3))

@fh.start
def start():
    return sum(take * m for take, m in zip(taken(), models))

@fh.end
def end():
    return {**dict(zip(takes, taken())), mine: sum(j * take for j, take in enumerate(taken()))}

@fh.server
def server(w, k):  # of the models w + k.u that were trained from m
    counts = [(fh.sum(took), took) for took in (k.took_1, k.took_2, k.took_3)]
    means = [fh.where(count > 0, w + fh.sum(took * k.u) / fh.maximum(count, 1), m) for m, (count, took) in zip(models, counts)]
    return {"w": sum(means) / 3, **dict(zip(models, means))}

@fh.judge
def judge(mine):
    return chosen(mine)
