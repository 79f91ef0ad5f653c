# IFCA: Ghosh et al. 2020 (arXiv:2006.04088), Algorithm 1 with averaging of models; HypCluster (arXiv:2002.10619) is the same: a client trains one of k models,
# that with the least loss on its examples. Each becomes the mean of those that were trained from it; one that nobody took stays.
# Differs: the global model is the mean of the models; it is the chosen one that evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

count  = fh.key("models", 3, static=True, least=2, most=8, integer=True, doc="number of models (k)")
each   = range(1, count + 1)
models = [fh.memory(f"m_{j}", of="server", down=True, first="drawn") for j in each]
losses = [fh.loss_at(f"F_{j}", at=m) for j, m in zip(each, models)]
takes  = [fh.report(f"took_{j}", doc="1 if the client trained this model") for j in each]
mine   = fh.memory("mine", of="client", shape="number")  # of the model that the client took last

def taken():  # 1 for the model with the least loss, the first of several
    left, chosen = 1, []
    for j, F in enumerate(losses[:-1]):
        least = F <= losses[j + 1]
        for other in losses[j + 2:]:
            least = least * (F <= other)
        chosen.append(least if j == 0 else left * least)
        left = left - chosen[-1]
    return [*chosen, left]

def chosen(number):
    model = models[-1]
    for j, m in reversed(list(enumerate(models[:-1]))):
        model = fh.where(number == j, m, model)
    return model

@fh.start
def start():
    return sum(take * m for take, m in zip(taken(), models))

@fh.end
def end():
    return {**dict(zip(takes, taken())), mine: sum(j * take for j, take in enumerate(taken()))}

@fh.server
def server(w, k):  # of the models w + k.u that were trained from m
    of_models = [getattr(k, f"took_{j}") for j in each]
    counts = [(fh.sum(took), took) for took in of_models]
    means = [fh.where(number > 0, w + fh.sum(took * k.u) / fh.maximum(number, 1), m) for m, (number, took) in zip(models, counts)]
    return {"w": sum(means) / count, **dict(zip(models, means))}

@fh.judge
def judge(mine):
    return chosen(mine)
