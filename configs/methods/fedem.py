# FedEM: Marfoq et al. 2021 (arXiv:2108.10252), Algorithm 1: each client's data are a mixture of three models, which all clients train. An example
# counts for model j by the probability q_j that it is of it: q_j ~ pi_j e^(-loss at model j), at the models that were sent; pi_j becomes the
# client's mean of q_j. evaluation.clients.personalized judges the mixture's answer, sum of pi_j softmax(logits of model j).
# Differs: a visit's steps are shared out among the models, one after the other, so training.local_epochs counts for all three; momentum goes on
# from one to the next. The global model is their mean.
# For: personal.
import fedhive as fh

names  = "m_1", "m_2", "m_3"
models = [fh.memory(name, of="server", down=True, first="drawn") for name in names]
shares = [fh.memory(name, of="client", shape="number", first=1 / 3) for name in ("pi_1", "pi_2", "pi_3")]
steps_ = [fh.memory(name, of="visit", up=True) for name in ("d_1", "d_2", "d_3")]
at     = dict(zip(("one", "two", "three"), models))


def responsibilities(y, *answers):
    likely = [share * fh.exp(-fh.cross_entropy(a.logits, y)) for share, a in zip(shares, answers)]
    return [each / sum(likely) for each in likely]


def part_ends(steps):  # the first steps of the second and of the third model
    return fh.floor((steps + 2) / 3), fh.floor((2 * steps + 2) / 3)


def turns(step, steps):  # 1 for the model whose turn the step is, else 0
    second, third = (step >= end for end in part_ends(steps))
    return 1 - second, second - third, third


@fh.start
def start():
    return models[0]


@fh.loss(also_at=at)
def loss(out, y, one, two, three, step, steps):
    q = responsibilities(y, one, two, three)
    return sum(turn * each for turn, each in zip(turns(step, steps), q)) * fh.cross_entropy(out.logits, y)


@fh.after
def after(w, step, steps):
    ends_first, ends_second = (step == end - 1 for end in part_ends(steps))
    trained = {d: fh.where(turn, w - m, d) for d, turn, m in zip(steps_, turns(step, steps), models)}
    return {"w": fh.where(ends_first, models[1], fh.where(ends_second, models[2], w)), **trained}


@fh.measure(also_at=at)
def measure(y, n, one, two, three):
    return dict(zip(shares, [q / n for q in responsibilities(y, one, two, three)]))


@fh.server
def server():
    means = [m + d for m, d in zip(models, steps_)]
    return {"w": sum(means) / 3, **dict(zip(models, means))}


@fh.answer(also_at=at)
def answer(one, two, three):
    return fh.log(sum(share * fh.softmax(a.logits) for share, a in zip(shares, (one, two, three))))
