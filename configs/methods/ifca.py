# IFCA: Ghosh et al. 2020 (arXiv:2006.04088), Algorithm 1 with averaging of models; HypCluster (arXiv:2002.10619) is the same: there are three models, and a
# client trains the one with the least loss on its examples. Each becomes the mean of those that were trained from it; one that nobody took stays.
# Differs: what comes up is a vector for each model, all but one of them 0. The global model is the mean of the models; it is the chosen one that
# evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

models = [fh.memory(name, of="server", down=True, first="drawn") for name in ("m_1", "m_2", "m_3")]
losses = [fh.loss_at(name, at=m) for name, m in zip(("F_1", "F_2", "F_3"), models)]
steps_ = [fh.memory(name, of="visit", up=True) for name in ("d_1", "d_2", "d_3")]
takes  = [fh.report(name, doc="1 if the client trained this model") for name in ("took_1", "took_2", "took_3")]
mine   = fh.memory("mine", of="client")  # the number of the model that the client took last, in each element

def taken():  # 1 for the model with the least loss, the first of several
    F_1, F_2, F_3 = losses
    first = (F_1 <= F_2) * (F_1 <= F_3)
    second = (1 - first) * (F_2 <= F_3)
    return first, second, 1 - first - second

@fh.start
def start():
    return sum(take * m for take, m in zip(taken(), models))

@fh.end
def end(w):
    sent = {d: take * (w - m) for take, d, m in zip(taken(), steps_, models)}
    return {**sent, **dict(zip(takes, taken())), mine: 0 * w + sum(j * take for j, take in enumerate(taken()))}

@fh.server
def server(k):
    means = [m + fh.sum(d) / fh.maximum(fh.sum(took), 1) for m, d, took in zip(models, (k.d_1, k.d_2, k.d_3), (k.took_1, k.took_2, k.took_3))]
    return {"w": sum(means) / 3, **dict(zip(models, means))}

@fh.judge
def judge(mine):
    m_1, m_2, m_3 = models
    return fh.where(mine == 0, m_1, fh.where(mine == 1, m_2, m_3))
