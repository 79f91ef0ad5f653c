#!/usr/bin/env python3
"""What clients measure and what samplers make of their classes, as formulas in NumPy (float64).

usage: measures.py > measures.json

gradient: softmax regression on a client's examples: the mean gradient of the cross-entropy and its norm. class_balanced: the probability of each
cohort, over all orders in which it can be drawn. The C++ tests that read the file compare fedhive with them. Needs NumPy alone.
"""
import itertools
import json
import sys

import numpy as np

draws = np.random.default_rng(20261126)


def gradient(examples, features, classes):
    pixels = draws.integers(0, 256, (examples, features))
    labels = draws.integers(0, classes, examples)
    w, b = draws.normal(size=(classes, features)).astype(np.float32), draws.normal(size=classes).astype(np.float32)
    x = pixels / 255
    scores = x @ w.astype(np.float64).T + b
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(examples), labels] -= 1
    g_w, g_b = p.T @ x / examples, p.mean(axis=0)
    return {"pixels": pixels.ravel().tolist(), "labels": labels.tolist(), "features": features, "classes": classes, "weight": w.ravel().tolist(),
            "bias": b.tolist(), "gradient": [*g_w.ravel(), *g_b], "norm": np.sqrt((g_w ** 2).sum() + (g_b ** 2).sum())}


def imbalance(counts):  # Zhang et al. 2023, equation 1
    total = counts.sum(axis=0)
    return max(((total / total.sum() - 1 / len(total)) ** 2).sum(), 1e-6)


def class_balanced(counts, cohort, exploration, rounds, times):  # Zhang et al. 2023, equations 4 to 6, β_i = i
    clients = [k for k in range(len(counts)) if counts[k].sum() > 0]
    probability = {}
    for order in itertools.permutations(clients, cohort):
        p = 1.0
        for i, chosen in enumerate(order):
            before = list(order[:i])
            left = [k for k in clients if k not in before]
            if i == 0:
                weights = [1 / imbalance(counts[[k]]) + exploration * np.sqrt(3 * np.log(rounds + 1) / (2 * max(times[k], 1))) for k in left]
            else:
                weights = [1 / imbalance(counts[before + [k]]) ** (i + 1) for k in left]
            p *= weights[left.index(chosen)] / sum(weights)
        key = tuple(sorted(order))
        probability[key] = probability.get(key, 0.0) + p
    return {"counts": counts.tolist(), "cohort": cohort, "exploration": exploration, "rounds": rounds, "times": times,
            "probability": [[list(key), p] for key, p in sorted(probability.items())]}


if __name__ == "__main__":
    skewed = np.array([[9, 1, 0], [0, 8, 2], [3, 3, 1], [0, 0, 0], [2, 0, 6]])
    json.dump({"gradient": gradient(11, 5, 4),
               "class_balanced": [class_balanced(skewed, 2, 10.0, 6, [4, 0, 1, 0, 2]), class_balanced(skewed, 3, 0.0, 0, [0] * 5)]},
              sys.stdout)
    print()
