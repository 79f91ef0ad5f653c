# CFL: Sattler, Müller and Samek 2021 (arXiv:1910.01991), Algorithm 2: clients train in groups, at first in one. A group whose mean update is shorter
# than eps_1 while a client's is longer than eps_2 is split in two, so that the largest cosine of updates between the parts is least.
# Differs: four groups at most; one of them is split in a round, from the first round and from two clients on, by those of its clients that are there,
# and the others stay; all groups' models go down. The global model is the first group's; it is the own group's that
# evaluation.clients.personalized judges. A model moves by the mean of its group's updates by examples; the mean for eps_1 counts all clients
# alike, as in the authors' code.
# For: personal.
import fedhive as fh

eps_1  = fh.key("eps_1", 0.4, least=0, doc="a mean update below this is near a stationary point (ε₁)")
eps_2  = fh.key("eps_2", 1.6, least=0, doc="a client's update above this is not (ε₂)")
models = [fh.memory(name, of="server", down=True) for name in ("m_1", "m_2", "m_3")]  # beside w, which is the model of group 0
groups = fh.memory("groups", of="server", shape="number", first=1)
group  = fh.memory("group", of="client", shape="number")
mine   = fh.report("mine", doc="the group that the client trained in")
d      = fh.memory("d", of="visit", up=True)


def of_group(number, w):
    m_1, m_2, m_3 = models
    return fh.where(number == 0, w, fh.where(number == 1, m_1, fh.where(number == 2, m_2, m_3)))


def split(k):  # 1 for the group that is split, else 0; and where each client is afterwards
    ripe, left = [], groups < 4
    for j in range(3):
        inside = k.mine == j
        mean = fh.sum(inside / fh.maximum(fh.sum(inside), 1) * k.d)
        now = left * (fh.norm(mean) < eps_1) * (fh.max(inside * fh.norm(k.d)) > eps_2) * (fh.sum(inside) > 1)
        ripe.append(now)
        left = left * (1 - now)
    leaves = fh.bipartition(k.d, sum(now * (k.mine == j) for j, now in enumerate(ripe)))
    return ripe, k.mine + leaves * (groups - k.mine)


@fh.start
def start(w_t, group):
    return of_group(group, w_t)


@fh.end
def end(w, w_0, group):
    return {d: w - w_0, mine: group}


@fh.server
def server(w, k, groups):
    ripe, after = split(k)
    before = [w, *models]
    parent = sum(now * m for now, m in zip(ripe, before))
    is_split = sum(ripe)
    bases = [w] + [fh.where(is_split * (groups == j), parent, m) for j, m in enumerate(models, 1)]
    w, m_1, m_2, m_3 = [base + fh.sum((after == j) * k.n * k.d) / fh.maximum(fh.sum((after == j) * k.n), 1) for j, base in enumerate(bases)]
    return {"w": w, "m_1": m_1, "m_2": m_2, "m_3": m_3, groups: groups + is_split}


@fh.mix
def mix(k):
    _, after = split(k)
    return {group: fh.sum(k.me * after)}


@fh.judge
def judge(w_t, group):
    return of_group(group, w_t)
