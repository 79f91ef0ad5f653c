#!/usr/bin/env python3
"""Attacks of colluding clients, each as the formula of its paper in NumPy (float64).

usage: attacks.py > attacks.json

A case is an attack with its keys, the honest updates [K][P], the number of attackers, and what each attacker sends.
attacks_test.cpp compares fedhive's attacks with them. γ of min_max and min_sum is searched, as in the paper. Needs NumPy alone.
"""
import json
import sys
from statistics import NormalDist

import numpy as np

draws = np.random.default_rng(20261126)


def alie(u, attackers, z):  # Baruch et al. 2019
    if z is None:
        n, m = len(u) + attackers, attackers
        supporters = max(1, n // 2 + 1 - m)
        below = (n - m - supporters) / (n - m)
        z = max(0.0, NormalDist().inv_cdf(below)) if below > 0 else 0.0
    return u.mean(axis=0) - z * u.std(axis=0)


def inner_product(u, epsilon):  # Xie et al. 2019
    return -epsilon * u.mean(axis=0)


def mimic(u):  # Karimireddy et al. 2022
    centered = u - u.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    return u[np.argmax(np.abs(centered @ vectors[:, -1]))]


def perturbation(u, direction):  # Shejwalkar and Houmansadr 2021
    mean = u.mean(axis=0)
    return {"unit": -mean / np.linalg.norm(mean), "std": -u.std(axis=0), "sign": -np.sign(mean)}[direction]


def largest(fits):
    """The largest gamma that fits, by doubling and bisection."""
    high = 1.0
    while fits(high):
        high *= 2
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def distances(u, vector):
    return np.linalg.norm(u - vector, axis=1)


def min_max(u, direction):
    mean, p = u.mean(axis=0), perturbation(u, direction)
    most = max(distances(u, one).max() for one in u)
    return mean + largest(lambda gamma: distances(u, mean + gamma * p).max() <= most) * p


def min_sum(u, direction):
    mean, p = u.mean(axis=0), perturbation(u, direction)
    most = max((distances(u, one) ** 2).sum() for one in u)
    return mean + largest(lambda gamma: (distances(u, mean + gamma * p) ** 2).sum() <= most) * p


cases = []


def case(attack, keys, formula, clients=9, attackers=3, floats=23):
    spread = draws.uniform(0.2, 2.0, size=(clients, 1))
    u = (draws.normal(size=floats) + spread * draws.normal(size=(clients, floats))).astype(np.float32).astype(np.float64)
    cases.append({"attack": attack, "keys": keys, "attackers": attackers, "honest": u.tolist(), "sent": formula(u, attackers).tolist()})


for clients, attackers in ((9, 3), (8, 2), (10, 1), (4, 6), (1, 3), (40, 10)):
    case("alie", {}, lambda u, m: alie(u, m, None), clients, attackers)
for z in (0.0, 1.5):
    case("alie", {"z": z}, lambda u, m, z=z: alie(u, m, z))
for epsilon in (0.1, 2.0):
    case("inner_product", {"epsilon": epsilon}, lambda u, m, e=epsilon: inner_product(u, e))
for clients in (1, 3, 7, 12):
    case("mimic", {}, lambda u, m: mimic(u), clients)
for name, formula in (("min_max", min_max), ("min_sum", min_sum)):
    for direction in ("unit", "std", "sign"):
        for clients in (2, 9, 15):
            case(name, {"direction": direction}, lambda u, m, f=formula, d=direction: f(u, d), clients)

json.dump({"numpy": np.__version__, "cases": cases}, sys.stdout)
print()
