#!/usr/bin/env python3
"""Steps of `upload`, each as the formula of its paper in NumPy (float64), with the draws of a run.

usage: uploads.py > uploads.json

A case is a chain of steps with their keys, the seed, round and client, and of the update that leaves: its values at some places, its sum and its
sum of squares, and its bytes. The model has two tensors of SHAPES; value i of it and of the client's follow from i (`model`, `trained`).
paper_test.cpp compares fedhive's chains with them. Needs NumPy alone.
"""
import json
import math

import numpy as np

SHAPES = (4500, 5)
SEED, ROUND, CLIENT = 7, 2, 4
UPLOAD = 16  # what the stream is for, as fedhive numbers it
M = 2**32 - 1
i = np.arange(sum(SHAPES))
model = ((i * 37) % 64 - 32) / 64
trained = model + ((i * i * 7919 + i * 104729) % 60013 - 30000) / 2**20


class Stream:
    """Philox4x32-10 (Salmon et al. 2011), counted up from a key."""

    def __init__(self, seed, round_=0, client=0):
        self.key, self.counter, self.words = (seed & M, seed >> 32), [0, UPLOAD, round_, client], []

    def word(self):
        if not self.words:
            (c0, c1, c2, c3), (k0, k1) = self.counter, self.key
            for _ in range(10):
                a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
                c0, c1, c2, c3 = b >> 32 ^ c1 ^ k0, b & M, a >> 32 ^ c3 ^ k1, a & M
                k0, k1 = k0 + 0x9E3779B9 & M, k1 + 0xBB67AE85 & M
            self.words = [c0, c1, c2, c3]
            self.counter[0] += 1
        return self.words.pop(0)

    def long(self):
        return self.word() | self.word() << 32


def tensors(u):
    return np.split(u, np.cumsum(SHAPES)[:-1])


def top(u, kept):
    k = max(1, math.floor(kept * len(u) + 0.5))
    places = np.argsort(-np.abs(u), kind="stable")[:k]
    return np.sort(places)


def top_k(u, key, bits, kept):
    only = np.zeros_like(u)
    only[top(u, kept)] = u[top(u, kept)]
    k = len(top(u, kept))
    return only, {"values": k, "each": 32, "more": 8 * min(4 * k, math.ceil(len(u) / 8))}


def stc(u, key, bits, kept):  # Sattler et al. 2019, Algorithm 1
    places = top(u, kept)
    mean = np.abs(u[places]).sum() / len(places)
    ternary = np.zeros_like(u)
    ternary[places] = mean * np.sign(u[places])
    golomb = min(len(places) * (b + 1) + len(u) // 2**b for b in range(32))  # distances of at most len(u) in all
    return ternary, {"values": len(places), "each": 1, "more": 32 + 8 * math.ceil(golomb / 8)}


def fp16(u, key, bits):
    return u.astype(np.float16).astype(float), {**bits, "each": 16}


def sign(u, key, bits):
    parts = [np.where(part < 0, -1, 1) * np.abs(part).mean() for part in tensors(u)]
    return np.concatenate(parts), {**bits, "each": 1, "more": 2 * 32}


def rounded(part, place, key, largest, levels):
    stream = Stream(key, 0, place)
    result = []
    for value in part:
        exact = min(abs(value) / largest, 1) * levels
        result.append(math.copysign((math.floor(exact) + (stream.word() / 2**32 < exact % 1)) / levels * largest, value))
    return np.array(result)


def quantize(u, key, bits, bits_=4):
    levels = 2 ** (bits_ - 1) - 1
    parts = [rounded(part, place, key, np.abs(part).max(), levels) for place, part in enumerate(tensors(u))]
    return np.concatenate(parts), {**bits, "each": bits_, "more": 2 * 32}


def terngrad(u, key, bits, deviations):  # Wen et al. 2017: s * sign(u) * b, P(b = 1) = |u| / s, after |u| is clipped to c * sigma
    parts = []
    for place, part in enumerate(tensors(u)):
        s = np.abs(part).max()
        if deviations > 0:
            s = min(s, deviations * np.sqrt((part**2).mean()))
        parts.append(rounded(part, place, key, s, 1))
    return np.concatenate(parts), {**bits, "each": 2, "more": 2 * 32}


def laplace_noise(u, key, bits, l1_norm, epsilon):
    u = u * min(1, l1_norm / np.abs(u).sum())
    noise = []
    for place, size in enumerate(SHAPES):
        for first in range(0, size, 4096):
            stream = Stream(key, first // 4096, place)
            for _ in range(min(4096, size - first)):
                word = stream.long()
                noise.append((-1) ** (word % 2) * -2 * l1_norm / epsilon * math.log(1 - (word >> 11) / 2**53))
    return u + noise, bits


def hadamard(d):
    matrix = np.ones((1, 1), np.int8)
    while len(matrix) < d:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


CENTROIDS = {}


def best_levels(bits):
    """The 2^bits levels of the least mean squared error for a standard normal value, by Lloyd's iteration (positive ones)."""
    if bits not in CENTROIDS:
        levels = (np.arange(2 ** (bits - 1)) + 0.5) * 3 / 2 ** (bits - 1)
        for _ in range(20000):
            edges = [0, *(levels[1:] + levels[:-1]) / 2, math.inf]
            density = [math.exp(-e * e / 2) / math.sqrt(2 * math.pi) for e in edges]
            below = [0.5 * math.erfc(-e / math.sqrt(2)) for e in edges]
            levels = np.array([(p - q) / (b - a) for p, q, a, b in zip(density, density[1:], below, below[1:])])
        CENTROIDS[bits] = levels
    return CENTROIDS[bits]


def eden(u, key, bits, bits_=1, closest=False):  # Vargaftik et al. 2021 and 2022, in blocks of 4096
    places = np.flatnonzero(u) if bits["values"] < len(u) else np.arange(len(u))
    sent, padding, blocks = np.zeros_like(u), 0, 0
    for number, first in enumerate(range(0, len(places), 4096)):
        here = places[first:first + 4096]
        d = 1 << (len(here) - 1).bit_length()
        x = np.zeros(d)
        x[:len(here)] = u[here]
        stream, signs = Stream(key, number), []
        for _ in range(0, d, 32):
            word = stream.word()
            signs += [1 - 2 * (word >> b & 1) for b in range(32)]
        rotation = hadamard(d) * np.array(signs[:d]) / np.sqrt(d)
        r = rotation @ x
        levels = np.concatenate([-best_levels(bits_)[::-1], best_levels(bits_)])
        c = levels[np.abs(r[:, None] * np.sqrt(d) / np.linalg.norm(x) - levels).argmin(1)]
        scale = r @ c / (c @ c) if closest else x @ x / (r @ c)
        sent[here] = (rotation.T @ (scale * c))[:len(here)]
        padding, blocks = padding + d - len(here), blocks + 1
    more = bits["more"] if bits["values"] < len(u) else 0
    return sent, {**bits, "each": bits_, "more": more + 8 * math.ceil(padding * bits_ / 8) + 32 * blocks + 64}


def drive(u, key, bits, closest=False):
    return eden(u, key, bits, 1, closest)


STEPS = {f.__name__: f for f in (top_k, stc, fp16, sign, quantize, terngrad, laplace_noise, eden, drive)}


def case(*chain):
    keys = Stream(SEED, ROUND, CLIENT)
    u, bits = trained - model, {"values": len(i), "each": 32, "more": 0}
    feedback = False
    for step in chain:
        key = keys.long()
        name = step["name"]
        if name == "error_feedback":  # nothing is kept before the first update
            feedback = True
            continue
        values = {{"bits": "bits_"}.get(k, k): v for k, v in step.items() if k != "name"}
        if feedback and name in ("drive", "eden"):
            values["closest"] = True
        u, bits = STEPS[name](u, key, bits, **values)
    places = [*range(0, 40), *range(4090, 4102), *range(4495, 4505), *np.flatnonzero(u)[::97].tolist()]
    places = sorted(set(places))
    return {"chain": list(chain), "places": places, "values": [float(f"{u[p]:.9g}") for p in places], "sum": float(f"{u.sum():.9g}"),
            "squares": float(f"{(u * u).sum():.9g}"), "bytes": math.ceil(bits["values"] * bits["each"] / 8) + bits["more"] // 8}


CASES = [case({"name": "top_k", "kept": 0.01}), case({"name": "quantize", "bits": 4}), case({"name": "sign"}), case({"name": "fp16"}),
         case({"name": "terngrad", "deviations": 0}), case({"name": "terngrad", "deviations": 1.5}), case({"name": "stc", "kept": 0.01}),
         case({"name": "stc", "kept": 0.25}), case({"name": "error_feedback"}, {"name": "stc", "kept": 0.004}), case({"name": "drive"}),
         case({"name": "error_feedback"}, {"name": "drive"}), *(case({"name": "eden", "bits": b}) for b in (1, 2, 3, 4)),
         case({"name": "error_feedback"}, {"name": "eden", "bits": 2}), case({"name": "top_k", "kept": 0.2}, {"name": "eden", "bits": 3}),
         case({"name": "top_k", "kept": 0.1}, {"name": "fp16"}), case({"name": "laplace_noise", "l1_norm": 3.0, "epsilon": 8.0}),
         case({"name": "laplace_noise", "l1_norm": 1e4, "epsilon": 1e9})]

if __name__ == "__main__":
    print('{"seed": %d, "round": %d, "client": %d, "shapes": %s, "cases": [' % (SEED, ROUND, CLIENT, json.dumps(SHAPES)))
    print(",\n".join(json.dumps(one) for one in CASES) + "\n]}")
