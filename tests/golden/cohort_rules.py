#!/usr/bin/env python3
"""Rules that combine the updates of a round, each as the formula of its paper in NumPy (float64).

usage: cohort_rules.py > cohort_rules.json

A case is a rule with its keys, and rounds one after the other: updates [K][P], what is known of their senders, and the aggregate.
cohort_rules_test.cpp compares fedhive's rules with them. Needs NumPy alone.
"""
import json
import sys

import numpy as np

draws = np.random.default_rng(20261125)


def trimmed_mean(u, trim):  # Yin et al. 2018, Definition 2
    t = int(trim * len(u))
    return np.sort(u, axis=0)[t:len(u) - t].mean(axis=0)


def mean_around_median(u, byzantine):  # Xie et al. 2018
    u = np.sort(u, axis=0)  # of two equally far, the smaller one
    nearest = np.argsort(np.abs(u - np.median(u, axis=0)), axis=0, kind="stable")[:max(1, len(u) - byzantine)]
    return np.take_along_axis(u, nearest, axis=0).mean(axis=0)


def sign_majority(u):  # Bernstein et al. 2019, Algorithm 1
    return np.sign(np.sign(u).sum(axis=0))


def robust_rate(u, weights, threshold):  # Ozdayi et al. 2021
    agree = np.abs(np.sign(u).sum(axis=0)) >= threshold
    return np.where(agree, 1.0, -1.0) * np.average(u, axis=0, weights=weights)


def krum_scores(u, byzantine):  # Blanchard et al. 2017, section 3
    distances = ((u[:, None] - u[None]) ** 2).sum(axis=2)
    neighbours = max(1, len(u) - byzantine - 2)
    return np.sort(distances, axis=1)[:, 1:1 + neighbours].sum(axis=1)


def krum(u, byzantine, chosen):
    return u[np.argsort(krum_scores(u, byzantine), kind="stable")[:chosen]].mean(axis=0)


def bulyan(u, byzantine):  # El Mhamdi et al. 2018, section 4
    left, taken = list(range(len(u))), []
    while len(taken) < len(u) - 2 * byzantine:
        best = int(np.argmin(krum_scores(u[left], byzantine)))
        taken.append(left.pop(best))
    return mean_around_median(u[taken], 2 * byzantine)


def geometric_median(u, weights, iterations, smoothing):  # Pillutla et al. 2019
    v = np.average(u, axis=0, weights=weights)
    for _ in range(iterations):
        v = np.average(u, axis=0, weights=weights / np.maximum(smoothing, np.linalg.norm(u - v, axis=1)))
    return v


def centered_clipping(u, last, tau, iterations):  # Karimireddy et al. 2021
    v = last
    for _ in range(iterations):
        lengths = np.linalg.norm(u - v, axis=1)
        v = v + ((u - v) * np.minimum(1.0, tau / lengths)[:, None]).mean(axis=0)
    return v


def extrapolated(u, weights, epsilon):  # Jhunjhunwala et al. 2023, Algorithm 1
    p = weights / weights.sum()
    mean = p @ u
    return max(1.0, (p * (u ** 2).sum(axis=1)).sum() / (2 * ((mean ** 2).sum() + epsilon))) * mean


def normalized(u, weights, steps, lr, momentum, mu):  # Wang et al. 2020
    def length(tau):
        """|a|_1 by its definition: the sum over steps of how much of a step's gradient the update holds."""
        total = 0.0
        for gradient in range(tau):
            velocity = moved = 0.0
            for step in range(tau):
                velocity = momentum * velocity + (1.0 if step == gradient else 0.0) - mu * lr * moved
                moved += velocity
            total += moved
        return total

    a, p = np.array([length(tau) for tau in steps]), weights / weights.sum()
    return (p * a).sum() * ((p / a) @ u)


def loss_power(u, losses, q, lr):  # Li et al. 2020 (q-FedAvg), Algorithm 2, as it stands there
    steps = -u / lr  # L (w_t - w_k)
    delta = (losses ** q)[:, None] * steps
    h = q * losses ** (q - 1) * (steps ** 2).sum(axis=1) + losses ** q / lr
    return -delta.sum(axis=0) / h.sum()


def tilted(u, weights, losses, tilt):  # Li et al. 2021 (TERM)
    return np.average(u, axis=0, weights=weights * np.exp(tilt * losses))


class Agnostic:  # Mohri et al. 2019, Algorithm 1; all of N = K clients
    def __init__(self, clients, rate):
        self.weights, self.rate = np.full(clients, 1 / clients), rate

    def __call__(self, u, losses):
        aggregate = self.weights @ u
        ascended = self.weights + self.rate * losses
        low, high = ascended.min() - 1, ascended.max()  # projection by bisection of the shift
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(ascended - middle, 0).sum() > 1 else (low, middle)
        self.weights = np.maximum(ascended - low, 0)
        return aggregate


def common_descent(u, weights, spread):  # Hu et al. 2022 (FedMGDA+), by projected gradient
    directions, p = u / np.linalg.norm(u, axis=1)[:, None], weights / weights.sum()
    gram, point = directions @ directions.T, p.copy()

    def project(x):  # onto the box around p, sum 1
        low, high = x.min() - 2, x.max() + 2
        for _ in range(100):
            middle = (low + high) / 2
            total = np.clip(x - middle, np.maximum(0, p - spread), np.minimum(1, p + spread)).sum()
            low, high = (middle, high) if total > 1 else (low, middle)
        return np.clip(x - low, np.maximum(0, p - spread), np.minimum(1, p + spread))

    for _ in range(5000):
        point = project(point - gram @ point / np.linalg.norm(gram, 2))
    return point @ directions


class Aligned:  # Wu and Wang 2021 (FedAdp)
    def __init__(self, clients, alpha):
        self.angles, self.rounds, self.alpha = np.zeros(clients), 0, alpha

    def __call__(self, u, weights):
        mean = np.average(u, axis=0, weights=weights)
        cosines = (u @ mean) / np.linalg.norm(u, axis=1) / np.linalg.norm(mean)
        self.rounds += 1
        self.angles = ((self.rounds - 1) * self.angles + np.arccos(cosines)) / self.rounds
        f = self.alpha * (1 - np.exp(-np.exp(-self.alpha * (self.angles - 1))))
        return np.average(u, axis=0, weights=weights * np.exp(f))


def without_conflicts(u, losses, kept):  # Wang et al. 2021 (FedFV), internal conflicts
    order = np.argsort(losses, kind="stable")
    gradients = u.copy()
    for k in order[:len(u) - int(kept * len(u))]:
        for j in order:
            along = gradients[k] @ u[j]
            if j != k and along < 0:
                gradients[k] -= along / (u[j] @ u[j]) * u[j]
    g = gradients.mean(axis=0)
    return np.linalg.norm(u.mean(axis=0)) * g / np.linalg.norm(g)


def spectral(u, left_out):  # Shejwalkar and Houmansadr 2021 (DnC), all coordinates, one iteration
    centered = u - u.mean(axis=0)
    scores = (centered @ np.linalg.svd(centered)[2][0]) ** 2
    return u[np.argsort(scores, kind="stable")[:len(u) - left_out]].mean(axis=0)


def even_labels(u, weights, discrepancies, a, b):  # Ye et al. 2023 (FedDisco)
    p = np.maximum(0, weights / weights.sum() - a * discrepancies + b)
    return np.average(u, axis=0, weights=p if p.sum() > 0 else weights)


def root_trust(u, root):  # Cao et al. 2021 (FLTrust)
    lengths, length = np.linalg.norm(u, axis=1), np.linalg.norm(root)
    trust = np.maximum(0, u @ root / (lengths * length))
    return (trust * length / lengths) @ u / trust.sum()


def root_score(u, root, byzantine, penalty):  # Xie et al. 2019 (Zeno), the decrease of the loss to first order by the root's update
    scores = u @ root - penalty * (u ** 2).sum(axis=1)
    return u[np.argsort(-scores, kind="stable")[:max(1, len(u) - byzantine)]].mean(axis=0)


class FoolsGold:  # Fung et al. 2020, Algorithm 1; the mean by its weights
    def __init__(self, kappa):
        self.history, self.kappa = 0.0, kappa

    def __call__(self, u):
        self.history = self.history + u
        h = self.history / np.linalg.norm(self.history, axis=1)[:, None]
        cs = h @ h.T - np.eye(len(u))
        v = np.maximum(0, cs.max(axis=1))
        for i in range(len(u)):
            for j in range(len(u)):
                if v[j] > v[i]:
                    cs[i, j] *= v[i] / v[j]
        a = np.clip(1 - cs.max(axis=1), 0, 1)
        a /= a.max()
        with np.errstate(divide="ignore"):
            a = np.clip(self.kappa * (np.log(a / (1 - a)) + 0.5), 0, 1)
        return np.average(u, axis=0, weights=a)


cases = []


def case(rule, keys, formula, clients=9, floats=23, rounds=1, local=None, wild=0, common=1.0, with_root=False, alike=0):
    local = local or {"lr": 0.05, "momentum": 0.0, "proximal_mu": 0.0}
    rows, last = [], np.zeros(floats)
    for _ in range(rounds):
        common_part = draws.normal(size=floats)
        u = (common * common_part + 0.3 * draws.normal(size=(clients, floats))).astype(np.float32)
        u[:wild] *= -30
        if alike:
            u[:alike] = (np.ones(floats) + 0.1 * draws.normal(size=(alike, floats))).astype(np.float32)
        u = u.astype(np.float64)
        senders = {"examples": draws.integers(1, 100, clients), "steps": draws.integers(1, 9, clients),
                   "loss": draws.uniform(0.1, 3.0, clients)}
        root = (0.7 * common + 0.5 * draws.normal(size=floats)).astype(np.float32).astype(np.float64) if with_root else None
        last = formula(u, senders["examples"].astype(float), senders["steps"], root if with_root else last, senders["loss"])
        rows.append({"updates": u.tolist(), **{name: values.tolist() for name, values in senders.items()}, "aggregate": last.tolist(),
                     **({"root": root.tolist()} if with_root else {})})
    cases.append({"rule": rule, "keys": keys, "local": local, "rounds": rows})


for trim in (0.0, 0.1, 0.25, 0.45):
    case("trimmed_mean", {"trim": trim}, lambda u, n, s, last, loss, trim=trim: trimmed_mean(u, trim), clients=11)
for left_out in (0, 1, 4, 20):
    case("mean_around_median", {"byzantine": left_out}, lambda u, n, s, last, loss, f=left_out: mean_around_median(u, f), clients=10)
case("sign_majority", {}, lambda u, n, s, last, loss: sign_majority(u))
for threshold in (0, 3, 9):
    case("robust_rate", {"threshold": threshold}, lambda u, n, s, last, loss, t=threshold: robust_rate(u, n, t))
for f, m in ((0, 1), (2, 1), (2, 5), (3, 6)):
    case("krum", {"byzantine": f, "chosen": m}, lambda u, n, s, last, loss, f=f, m=m: krum(u, f, m), wild=f)
for f, clients in ((0, 3), (1, 7), (2, 13)):
    case("bulyan", {"byzantine": f}, lambda u, n, s, last, loss, f=f: bulyan(u, f), clients=clients, wild=f)
for iterations in (0, 1, 3, 50):
    case("geometric_median", {"weiszfeld_steps": iterations, "smoothing": 1e-6},
         lambda u, n, s, last, loss, i=iterations: geometric_median(u, n, i, 1e-6), wild=2)
for tau, iterations in ((0.5, 1), (2.0, 3), (100.0, 1)):
    case("centered_clipping", {"radius": tau, "iterations": iterations},
         lambda u, n, s, last, loss, t=tau, i=iterations: centered_clipping(u, last, t, i), rounds=3, wild=1)
for epsilon in (0.0, 1e-3, 100.0):
    case("extrapolated", {"epsilon": epsilon}, lambda u, n, s, last, loss, e=epsilon: extrapolated(u, n, e))
for momentum, mu in ((0.0, 0.0), (0.9, 0.0), (0.0, 0.5), (0.5, 1.0)):
    local = {"lr": 0.05, "momentum": momentum, "proximal_mu": mu}
    case("normalized", {}, lambda u, n, s, last, loss, l=local: normalized(u, n, s, l["lr"], l["momentum"], l["proximal_mu"]), local=local)

for q in (0.0, 0.5, 2.0):
    case("loss_power", {"q": q}, lambda u, n, s, last, loss, q=q: loss_power(u, loss, q, 0.05))
for tilt in (0.0, 2.0):
    case("tilted", {"tilt": tilt}, lambda u, n, s, last, loss, t=tilt: tilted(u, n, loss, t))
for rate in (0.01, 0.5):
    rule = Agnostic(9, rate)
    case("agnostic", {"lambda_lr": rate}, lambda u, n, s, last, loss, rule=rule: rule(u, loss), rounds=4)
for spread in (0.0, 0.05, 1.0):
    case("common_descent", {"spread": spread}, lambda u, n, s, last, loss, e=spread: common_descent(u, n, e))
rule = Aligned(9, 5.0)
case("aligned", {"gompertz": 5.0}, lambda u, n, s, last, loss, rule=rule: rule(u, n), rounds=3)
for kept in (0.0, 0.25, 1.0):
    case("without_conflicts", {"kept": kept}, lambda u, n, s, last, loss, k=kept: without_conflicts(u, loss, k), common=0.1)
for f, filtered in ((0, 1.0), (2, 1.0), (2, 1.5)):
    case("spectral", {"byzantine": f, "filtered": filtered},
         lambda u, n, s, last, loss, out=int(np.ceil(f * filtered)): spectral(u, out), clients=12, wild=f)
for a, b in ((0.0, 0.0), (0.5, 0.1), (0.5, 1.0), (9.0, 0.0)):
    # The losses stand for the distances.
    case("even_labels", {"disco_a": a, "disco_b": b}, lambda u, n, s, last, loss, a=a, b=b: even_labels(u, n, loss, a, b))

for wild in (0, 4, 8):
    case("root_trust", {}, lambda u, n, s, root, loss: root_trust(u, root), wild=wild, with_root=True)
for b, penalty, wild in ((0, 0.0, 0), (3, 0.005, 3), (8, 1.0, 0), (12, 0.5, 0)):
    case("root_score", {"byzantine": b, "penalty": penalty},
         lambda u, n, s, root, loss, b=b, p=penalty: root_score(u, root, b, p), wild=wild, with_root=True)

for kappa, alike in ((1.0, 0), (1.0, 3), (0.25, 3)):
    rule = FoolsGold(kappa)
    case("similarity", {"confidence": kappa}, lambda u, n, s, last, loss, rule=rule: rule(u), rounds=4, common=0.1, alike=alike)

# Angles near 1, where FedAdp's weights differ.
for alpha in (0.5, 3.0):
    rule = Aligned(9, alpha)
    case("aligned", {"gompertz": alpha}, lambda u, n, s, last, loss, rule=rule: rule(u, n), rounds=3, common=0.2)

json.dump({"numpy": np.__version__, "cases": cases}, sys.stdout)
print()
