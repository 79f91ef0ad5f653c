# FedSoft: Ruan and Joe-Wong 2022 (arXiv:2112.06053), Algorithm 1: clients' data are mixtures of three clusters, and each client trains near their models.
# Its importance u_s for cluster s is the share of its examples for which that cluster's model has the least loss, at least sigma. It minimises
# F_k(w) + lambda / 2 * sum of u_s |w - c_s|^2. A cluster's model c_s becomes the mean of the clients' models by n_k u_s.
# Differs: importances are measured in each visit, at the models that were sent; its steps read those of the client's visit before, at first a third
# each. All clients of a round count for each cluster, where the paper draws some for each. The global model is the mean of the clusters'; it is the
# own model that evaluation.clients.personalized judges.
# For: personal.
import fedhive as fh

sigma   = fh.key("sigma", 0.0001, above=0, most=1, doc="the least importance of a cluster (σ)")
pull    = fh.key("lambda", 0.1, least=0, doc="pull to the clusters' models (λ)")
names   = "c_1", "c_2", "c_3"
centers = [fh.memory(name, of="server", down=True, first="drawn") for name in names]
shares  = [fh.memory(name, of="client", shape="number", first=1 / 3) for name in ("share_1", "share_2", "share_3")]
sent    = [fh.report(name, doc="importance of the cluster for the client") for name in ("u_1", "u_2", "u_3")]
own     = fh.memory("own", of="client", first="w_t")


def importances():
    return [fh.maximum(sigma, share) for share in shares]


@fh.start
def start(own):
    return own


@fh.gradient
def gradient(g, w):
    return g + pull * sum(u * (w - c) for u, c in zip(importances(), centers))


@fh.measure(also_at=dict(zip(("one", "two", "three"), centers)))
def measure(y, n, one, two, three):
    F_1, F_2, F_3 = (fh.cross_entropy(at.logits, y) for at in (one, two, three))
    first = (F_1 <= F_2) * (F_1 <= F_3)
    second = (1 - first) * (F_2 <= F_3)
    return dict(zip(shares, (first / n, second / n, (1 - first - second) / n)))


@fh.end
def end(w):
    return {own: w, **dict(zip(sent, importances()))}


@fh.server
def server(w, k):
    means = [w + fh.sum(k.n * u * k.u) / fh.sum(k.n * u) for u in (k.u_1, k.u_2, k.u_3)]
    return {"w": sum(means) / 3, **dict(zip(centers, means))}


@fh.judge
def judge(own):
    return own
