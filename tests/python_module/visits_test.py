#!/usr/bin/env python3
"""Tests of visits with PyTorch: fedhive's own FedAvg for every kind of layer and for graphs, values that are elsewhere, draws, keys, a debugger.

They need NumPy and PyTorch, of .deps/python and .deps/torch where scripts/setup has put them.
"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import CONFIG, LIBRARY, InFolder, can_import, root

sys.path.append(str(root / ".deps/torch"))
import fedhive as fh  # noqa: E402
from fedhive import program  # noqa: E402

missing = [package for package in ("numpy", "torch", "pandas") if not can_import(package)]
if missing:
    print(f"[skipped] Python cannot import {', '.join(missing)}: pip install {' '.join(missing)}", file=sys.stderr)
os.environ["FEDHIVE_PYTHON"] = sys.executable
os.environ["FEDHIVE_PYTHONPATH"] = os.pathsep.join([LIBRARY, *sys.path[1:]])

SGD = """
import torch

def visit(model, batches, client):
    for x, y in batches:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        client.add_loss(loss, len(y))
        with torch.no_grad():
            for parameter in model.parameters():
                STEP
"""
IN_PLACE = SGD.replace("STEP", "parameter -= client.lr * parameter.grad")
ELSEWHERE = SGD.replace("STEP", "parameter.data = parameter.data - client.lr * parameter.grad")

IMAGES = {"data": {"format": "glyphs", "num_train": 160, "num_test": 40, "partition": {"clients": 4}}}
MODELS = {
    "norms and pools": [{"conv2d": {"out": 4, "kernel": 3, "padding": 1, "bias": False}}, "batch_norm", "relu", {"max_pool": 2},
                        {"residual": [{"conv2d": {"out": 4, "kernel": 3, "padding": 1}}, {"group_norm": 2}, "tanh"]},
                        {"residual": [{"conv2d": {"out": 6, "kernel": 3, "padding": 1, "stride": 2}}],
                         "shortcut": [{"conv2d": {"out": 6, "kernel": 1, "stride": 2}}]},
                        {"avg_pool": 0}, "flatten", "layer_norm", {"linear": 12}, "batch_norm", "gelu", "linear"],
    "low-rank factors": [{"conv2d": {"out": 4, "kernel": 3, "stride": 2}}, {"channel_shuffle": 2}, "relu", {"scale": 0.5}, "flatten",
                         {"linear": {"out": 12, "lora": 2, "alpha": 4}}, "relu", {"linear": {"bias": False, "lora": 3}}],
}


@unittest.skipIf(missing, f"pip install {' '.join(missing)}")
class Visits(InFolder):
    """Runs with a visit in PyTorch."""

    def visit(self, text, name="own.py"):
        """Returns the path of a file with that text."""
        path = Path(name).absolute()
        path.write_text(text, encoding="utf-8")
        return {"visit": str(path)}

    def both(self, config, most=2e-4, **options):
        """Checks that a visit gives what fedhive's own training gives. Returns both runs."""
        own = fh.run(config, out="by_fedhive", overwrite=True, **options)
        run = fh.run(config, out="by_visit", overwrite=True, strategy=self.visit(IN_PLACE), **options)
        for table, column in (("rounds", "test_loss"), ("clients", "train_loss"), ("clients", "update_norm")):
            difference = (getattr(run, table)[column] - getattr(own, table)[column]).abs().max()
            self.assertLess(difference, most, f"{column} of {table}")
        return own, run

    def test_layers_of_images(self):
        for name, layers in MODELS.items():
            with self.subTest(name):
                self.both({**CONFIG, **IMAGES, "model": {"layers": layers}})

    def test_named_models(self):
        self.both({**CONFIG, **IMAGES, "model": {"name": "mnist_cnn", "dropout": False}})

    def test_tokens(self):
        Path("text.txt").write_text("to be or not to be, that is the question. " * 40, encoding="utf-8")
        factors = [{"embedding": 8}, "position", {"attention": {"heads": 2, "lora": 2, "alpha": 4}}, "last_position", {"linear": {"lora": 2}}]
        for model in ({"name": "char_transformer", "width": 8, "heads": 2, "blocks": 1}, {"name": "char_lstm", "units": 8, "lstm_layers": 2}, {"layers": factors}):
            with self.subTest(model.get("name", "factors")):
                self.both({**CONFIG, "model": model,
                           "data": {"format": "text", "train": str(Path("text.txt").absolute()), "sequence": 12, "step": 12, "owners": "blocks", "partition": {"clients": 4}}})

    def test_a_graph_has_the_names_the_start_and_the_buffers_of_fedhives(self):
        import torch
        from torch import nn
        torch.manual_seed(3)
        net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Hardswish(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 10))
        own, run = self.both({**CONFIG, **IMAGES}, model=net)
        self.assertEqual(list(run.state_dict()), list(own.state_dict()))
        for name, value in run.state_dict().items():
            self.assertLess(abs(value - own.state_dict()[name]).max(), 2e-4, name)
        self.assertGreater(abs(run.state_dict()["1.running_mean"]).max(), 1e-2)  # 0 at first

    def test_a_graph_has_no_evaluation_mode(self):
        from torch import nn
        text = "def visit(model, batches):\n    model.train()\n    model.eval()\n"
        with self.assertRaises(fh.RunError) as caught:
            fh.run({**CONFIG, **IMAGES}, out="evaluated", model=nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.Hardswish()), strategy=self.visit(text))
        self.assertIn("own.py:3: RuntimeError: a network of torch.export is as it was exported", str(caught.exception))

    def test_keys_of_one_file_are_axes_of_a_sweep(self):
        text = IN_PLACE.replace("import torch", "import fedhive as fh\nimport torch\nspeed = fh.key('speed', 1.0, above=0)\n\n@fh.visit(python=True)").replace(
            "client.lr *", "speed * client.lr *")
        config = {**CONFIG, **IMAGES, "strategy": {"file": self.visit(text)["visit"]}}
        sweep = fh.sweep({"base": config, "grid": {"strategy.speed": [0.5, 1.0]}}, out="sweep")
        plain = fh.run({**CONFIG, **IMAGES}, out="plain", strategy=self.visit(IN_PLACE, "plain.py"))
        slow, fast = (run.manifest["model_sha256"] for run in sweep.runs.values())
        self.assertEqual(fast, plain.manifest["model_sha256"])
        self.assertNotEqual(slow, fast)

    def test_values_that_are_elsewhere_are_brought_back(self):
        shas = [fh.run({**CONFIG, **IMAGES}, out=name, strategy=self.visit(text)).manifest["model_sha256"]
                for name, text in (("in_place", IN_PLACE), ("elsewhere", ELSEWHERE))]
        self.assertEqual(*shas)

    def test_dropout_has_the_clients_key(self):
        config = {**CONFIG, **IMAGES, "model": {"layers": ["flatten", {"dropout": 0.5}, "linear"]}}
        shas = {fh.run(config, out=f"workers_{workers}", workers=workers, strategy=self.visit(IN_PLACE)).manifest["model_sha256"] for workers in (0, 1, 2)}
        self.assertEqual(len(shas), 1)
        other = fh.run({**config, "seed": 2}, out="other", strategy=self.visit(IN_PLACE)).manifest["model_sha256"]
        self.assertNotIn(other, shas)

    def test_a_debugger_stops_in_the_visit(self):
        path = self.visit("def visit(weights, client):\n    breakpoint()\n    weights['linear.bias'] += 1\n")["visit"]
        sets = [f"--set={key}={value}" for key, value in (("workers", 0), ("rounds", 1), ("training.cohort", 1), ("model.name", "lr"),
                                                          ("strategy", "{visit: " + path + "}"),
                                                          ("data", "{format: glyphs, num_train: 40, num_test: 10, partition: {clients: 2}}"))]
        Path("run.yaml").write_text("data: {format: glyphs}\nmodel: {name: lr}\n", encoding="utf-8")
        ended = subprocess.run([str(program.find()), "run", "run.yaml", "--out", "debugged", *sets], input="p ('examples', client.examples)\nc\n",
                               capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("('examples', 20)", ended.stdout)


if __name__ == "__main__":
    unittest.main()
