#!/usr/bin/env python3
"""Runs of methods with memories by class against NumPy: what clients train and tell, and what the server makes of it, in three rounds, written from
the papers. A batch is a client's whole data, so that no order matters.

usage: reference_test.py PROGRAM
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import root

sys.path.insert(0, str(root / ".deps/python"))
try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy in .deps/python (scripts/setup --tests)")
    sys.exit(0)

from fedhive.tables import read_tensors

PROGRAM = ""
CLASSES, FEATURES, INPUTS, LR, STEPS, ROUNDS = 4, 6, 5, 0.25, 2, 3
TENSORS = [f"fc{layer}.{kind}" for layer in (1, 2, 3) for kind in ("weight", "bias")]
CONFIG = """
rounds: 3
device: cpu
workers: 1
data: {{format: npz, train: train.npz, test: test.npz, classes: 4, partition: {{scheme: natural}}}}
model: {{name: mlp, hidden: 6, init: first.safetensors}}
strategy: {{file: {file}, {keys}}}
training: {{cohort: 3, local_epochs: 2, batch_size: 64, engine: {engine}, optimizer: {{name: sgd, lr: 0.25}}}}
checkpoint: {{every: 1, keep: 9}}
"""


def forward(model, x):
    """Returns what each layer of the network gets, and the logits."""
    inputs = [x]
    for layer in (0, 2):
        inputs.append(np.maximum(inputs[-1] @ model[layer].T + model[layer + 1], 0))
    return inputs, inputs[-1] @ model[4].T + model[5]


def step(model, x, loss):
    """Returns the model behind one step. loss: from z and logits to the gradients of the batch's mean loss to both."""
    inputs, logits = forward(model, x)
    to_z, to = loss(inputs[2], logits)
    after = list(model)
    for layer in (4, 2, 0):
        got = inputs[layer // 2]
        after[layer], after[layer + 1] = model[layer] - LR * to.T @ got, model[layer + 1] - LR * to.sum(0)
        to = (to @ model[layer] + (to_z if layer == 4 else 0)) * (got > 0)
    return after


def softmax(logits):
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def fedproto(y, P, known):
    """Tan et al. 2022: cross-entropy and the squared distance to the label's prototype, a mean over z's elements, times 0.5."""
    return lambda z, logits: (0.5 * 2 * (z - P[y]) * known[y][:, None] / FEATURES / len(y), (softmax(logits) - np.eye(CLASSES)[y]) / len(y))


def fd(y, F, known):
    """Jeong et al. 2018: cross-entropy with the label, and 0.5 times that with the mean output of its class."""
    def loss(z, logits):
        p = softmax(logits)
        taught = (p * F[y].sum(1, keepdims=True) - F[y]) * known[y][:, None]
        return np.zeros_like(z), (p - np.eye(CLASSES)[y] + 0.5 * taught) / len(y)
    return loss


class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        draws = np.random.default_rng(7)
        # Nobody has class 3 before the test set; the last client lacks class 0.
        self.labels = [np.array([0, 0, 1, 2, 1]), np.array([0, 2, 2, 2, 2, 1, 0, 1, 1]), np.array([1, 2, 1])]
        self.x = [draws.normal(size=(len(y), INPUTS)).astype(np.float32) for y in self.labels]
        shapes = [(FEATURES, INPUTS), (FEATURES,), (FEATURES, FEATURES), (FEATURES,), (CLASSES, FEATURES), (CLASSES,)]
        self.first = [draws.normal(size=shape).astype(np.float32) / 2 for shape in shapes]
        clients = np.repeat(np.arange(3), [len(y) for y in self.labels])
        np.savez(self.folder / "train.npz", x=np.concatenate(self.x), y=np.concatenate(self.labels), client=clients)
        np.savez(self.folder / "test.npz", x=draws.normal(size=(4, INPUTS)).astype(np.float32), y=np.arange(4))
        head, at = {}, 0
        for name, tensor in zip(TENSORS, self.first):
            head[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
            at += tensor.nbytes
        text = json.dumps(head).encode()
        (self.folder / "first.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(t.tobytes() for t in self.first))

    def states_of(self, method, engine, keys):
        """Returns the tensors of the checkpoints behind each round."""
        out = self.folder / engine
        config = CONFIG.format(file=root / f"configs/methods/{method}.py", engine=engine, keys=keys)
        (self.folder / "config.yaml").write_text(config, encoding="utf-8")
        ended = subprocess.run([PROGRAM, "run", self.folder / "config.yaml", "--out", out, "--quiet"], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return [read_tensors(path) for path in sorted((out / "checkpoints").iterdir())[-ROUNDS:]]

    def check(self, method, keys, table, loss, tell):
        """table: (memory, columns). tell(z, logits, y): what a client's examples add to the rows of their classes, and each class's number."""
        for engine in ("direct", "libtorch"):
            states = self.states_of(method, engine, keys)
            self.assertEqual(len(states), ROUNDS)
            model, rows, known = [t.astype(float) for t in self.first], np.zeros((CLASSES, table[1])), np.zeros(CLASSES)
            for state in states:
                trained, sums, counts = [], np.zeros_like(rows), np.zeros(CLASSES)
                for x, y in zip(self.x, self.labels):
                    own = model
                    for _ in range(STEPS):
                        own = step(own, x, loss(y, rows, known))
                    inputs, logits = forward(own, x)
                    added, number = tell(inputs[2], logits, y)
                    trained, sums, counts = [*trained, own], sums + added, counts + number
                model = self.mean(trained)
                rows = np.array([new / n if n > 0 else old for new, n, old in zip(sums, counts, rows)])
                known = np.maximum(known, counts > 0)
                for name, expected in [*zip(TENSORS, model), (table[0], rows), ("known", known)]:
                    np.testing.assert_allclose(state["model." + name], expected, rtol=2e-4, atol=2e-6, err_msg=f"{engine}: {name}")
            self.assertEqual(known.tolist(), [1, 1, 1, 0])
            self.assertGreater(np.abs(rows).max(), 0.1)

    def mean(self, models):
        weights = self.weights / self.weights.sum()
        return [sum(weight * tensor for weight, tensor in zip(weights, tensors)) for tensors in zip(*models)]

    def test_fedproto(self):
        self.weights = np.array([len(y) for y in self.labels])
        self.check("fedproto", "pull: 0.5", ("P", FEATURES), fedproto, lambda z, logits, y: (np.eye(CLASSES)[y].T @ z, np.bincount(y, minlength=CLASSES)))

    def test_fd(self):
        def tell(_, logits, y):
            of_class = np.eye(CLASSES)[y].T
            n = of_class.sum(1)
            return of_class @ softmax(logits) / np.maximum(n, 1)[:, None], n > 0
        self.weights = np.ones(3)
        self.check("fd", "gamma: 0.5", ("F", CLASSES), fd, tell)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
