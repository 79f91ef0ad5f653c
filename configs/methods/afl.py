# AFL: Mohri, Sivek and Suresh 2019 (arXiv:1902.00146), Algorithm 1: weights of all clients climb where the loss is large.
# w <- w + sum lambda_k * u_k / sum lambda_k; then lambda <- the closest point of the simplex to lambda + gamma * F_k(w_t).
# Differs: clients take local steps, as in FedAvg; with a cohort smaller than all clients, only its lambda climb.
# For: fairness.
import fedhive as fh

gamma = fh.key("gamma", 0.1, least=0, doc="rate of the weights' ascent (γ_λ)")
mine = fh.memory("mine", of="server", shape="clients", simplex=True)


@fh.cohort
def cohort(k):
    return {mine: k.mine + gamma * k.sent_loss}


@fh.weight
def weight(k):
    total = fh.sum(k.mine)
    return fh.where(total > 0, k.mine / total, 0)
