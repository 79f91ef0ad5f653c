#!/usr/bin/env python3
"""Tests of fh.run with arrays, a partition and a module of PyTorch. They need NumPy, one needs torch.

usage: objects_test.py [TestCase.test_name …]
"""
import pickle
import sys
import unittest

from support import InFolder, needs, root  # first: it says where fedhive is

import fedhive as fh
from fedhive import objects

try:
    import numpy
except ImportError:
    numpy = None
sys.path.append(str(root / ".deps/torch"))
try:
    import torch
except Exception as missing:  # a wheel for another Python fails in its own way
    torch = None
    print(f"[skipped] Python cannot import torch ({str(missing).strip().splitlines()[0]}): pip install torch", file=sys.stderr)

CONFIG = {"model": {"name": "lr"}, "rounds": 2, "workers": 1, "device": "cpu"}


def blots(count=60, classes=3, features=5):
    """Returns examples that lie around a centre of their class, and the classes."""
    draw = numpy.random.default_rng(1)
    y = numpy.arange(count) % classes
    return draw.normal(size=(count, features)) + 3 * numpy.eye(classes, features)[y], y


@needs("numpy")
class Data(InFolder):
    def setUp(self):
        super().setUp()
        x, y = blots()
        self.data = (x[20:], y[20:], x[:20], y[:20])
        self.partition = [range(0, 30), [30, 31, 39], numpy.array([35])]

    def test_arrays_and_a_partition_are_trained_on(self):
        run = fh.run(CONFIG, out="one", data=self.data, partition=self.partition)
        rows = (run.folder / "partition.csv").read_text(encoding="utf-8").splitlines()[1:]
        y = self.data[1]
        self.assertEqual([row.split(",")[1:5] for row in rows],
                         [[str(len(share)), *(str((y[list(share)] == label).sum()) for label in range(3))] for share in self.partition])
        self.assertEqual((run.manifest["num_clients"], run.config["data"]["partition"]["scheme"]), (3, "from_file"))
        with numpy.load(run.config["data"]["train"]) as train:
            self.assertTrue((train["x"] == self.data[0]).all() and (train["y"] == y).all())

    def test_a_run_with_arrays_is_repeated_from_its_config(self):
        run = fh.run(CONFIG, out="one", data=self.data, partition=self.partition)
        again = fh.run(run.folder / "config.yaml", out="two")
        self.assertEqual(run.manifest["model_sha256"], again.manifest["model_sha256"])

    def test_equal_arrays_are_written_once(self):
        for out in "one", "two":
            fh.run(CONFIG, out=out, data=self.data, partition=self.partition)
        fh.run(CONFIG, out="three", data=(*self.data[:3], self.data[3][::-1]), partition=self.partition)
        names = sorted(path.name.split("-")[0] for path in (self.folder / "inputs").iterdir())
        self.assertEqual(names, ["data", "data", "partition"])

    def test_owners_become_clients_in_their_order(self):
        owners = ["b" if i < 10 else "a" if i < 37 else "c" for i in range(40)]
        y = self.data[1]
        labels = [[str(len(share)), *(str((share == label).sum()) for label in range(3))] for share in (y[10:37], y[:10], y[37:])]
        rows = []
        for given in owners, numpy.array(owners), [{"a": 1, "b": 7, "c": 30}[owner] for owner in owners]:
            plan = fh.run(CONFIG, out=f"run-{len(rows)}", data=self.data, partition=given).folder / "partition.csv"
            rows.append([row.split(",")[1:5] for row in plan.read_text(encoding="utf-8").splitlines()[1:]])
        self.assertEqual(rows, [labels] * 3)

    def test_other_keys_of_the_section_stay(self):
        run = fh.run({**CONFIG, "data": {"normalize": {"mean": [1.0], "std": [2.0]}}}, out="one", data=self.data, partition=self.partition,
                     set={"data.partition.holdout": 0.2})
        self.assertEqual((run.config["data"]["normalize"]["std"], run.config["data"]["partition"]["holdout"]), ([2], 0.2))

    def test_arrays_of_any_order_and_kind_are_the_same_data(self):
        x, y, x_test, y_test = self.data
        kinds = [(x.tolist(), y.tolist(), x_test.tolist(), y_test.tolist()),
                 (numpy.asfortranarray(x), y.astype("int8"), x_test.astype(">f8"), y_test.astype(">i4"))]
        kept = [fh.run(CONFIG, out=f"run-{i}", data=data, partition=self.partition).manifest for i, data in enumerate([self.data, *kinds])]
        self.assertEqual(len({manifest["model_sha256"] for manifest in kept}), 1)

    def test_a_sweep_and_validate_take_arrays(self):
        plan = fh.validate(CONFIG, data=self.data, partition=self.partition)
        self.assertEqual((plan["num_clients"], plan["num_train"], list(self.folder.iterdir())), (3, 40, []))
        sweep = fh.sweep({"base": CONFIG, "seeds": 2}, out="sweep", data=self.data, partition=self.partition)
        self.assertEqual([run.manifest["num_clients"] for run in sweep.runs.values()], [3, 3])

    def refused(self, text, data=None, partition=None, key="data"):
        with self.assertRaises(fh.ConfigError) as caught:
            fh.run(CONFIG, out="one", data=data or self.data, partition=partition)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(caught.exception.key, key)
        self.assertFalse((self.folder / "one").exists())

    def test_arrays_that_are_none_are_refused(self):
        x, y, x_test, y_test = self.data
        self.refused("x has 39 examples, but y has the shape (40,)", (x[1:], y, x_test, y_test))
        self.refused("x_test has 20 examples, but y_test has the shape (19,)", (x, y, x_test, y_test[1:]))
        self.refused("x is an array of objects", (numpy.array([[1], [1, 2]], dtype=object), y, x_test, y_test))
        self.refused("x is no array", ([[1], [1, 2]], y, x_test, y_test))
        self.refused("fix: numpy.unique(y, return_inverse=True)[1]", (x, y.astype(str), x_test, y_test))
        self.refused("the labels in y are 1 to 3; expected classes from 0", (x, y + 1, x_test, y_test + 1))
        self.refused("an example of x has the shape (5,), one of x_test (4,)", (x, y, x_test[:, 1:], y_test))
        self.refused("x has the shape (40,)", (x[:, 0], y, x_test, y_test))
        self.refused("expected (x, y, x_test, y_test)", (x, y))

    def test_what_the_program_finds_names_the_array_and_no_file(self):
        x, y, x_test, y_test = self.data
        x = x.copy()
        x[3, 2] = numpy.nan
        with self.assertRaises(fh.ConfigError) as caught:
            fh.run(CONFIG, out="one", data=(x, y, x_test, y_test))
        self.assertEqual(caught.exception.key, "data.train")
        self.assertTrue(str(caught.exception).startswith("data.train: x: "), caught.exception)

    def test_partitions_that_are_none_are_refused(self):
        for partition, text in (([[0, 1], [1, 2]], "example 1 belongs to client 0 and to client 1"), ([[0, 40]], "client 0 has example 40; there are 0 to 39"),
                                ([[0], []], "client 1 has no example"), ([[-1]], "client 0 has example -1"), ([[0.5]], "expected a list of integers"),
                                ([numpy.zeros(40, bool)], "fix: numpy.flatnonzero of the mask"), (["a", "b"], "there are 2 owners, but 40"), (["a", None] * 20, "owner 1 is None; expected a text or an integer"),
                                (3, "expected a list of each client's examples"), ([], "expected a list")):
            with self.subTest(text):
                self.refused(text, partition=partition, key="partition")

    def test_objects_are_never_pickled(self):
        class Bomb:
            def __array__(self, *_, **__):
                return numpy.array([pickle], dtype=object)
        self.refused("x is an array of objects", (Bomb(), *self.data[1:]))


@unittest.skipIf(torch is None or numpy is None, "Python cannot import torch: pip install torch")
class Model(InFolder):
    def test_a_module_is_exported_and_comes_back(self):
        x, y = blots()
        net = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
        before = {name: value.clone() for name, value in net.state_dict().items()}
        run = fh.run(CONFIG, out="one", data=(x[20:], y[20:], x[:20], y[:20]), partition=[range(0, 20), range(20, 40)], model=net)
        self.assertFalse(net.training)
        self.assertTrue(all(torch.equal(value, before[name]) for name, value in net.state_dict().items()))
        state = run.state_dict(torch=True)
        self.assertEqual(state["0.weight"].shape, (8, 5))
        net.load_state_dict(state, strict=False)
        self.assertFalse(torch.equal(net.state_dict()["0.weight"], before["0.weight"]))

    def refused(self, model, *texts):
        x, y = blots()
        with self.assertRaises(fh.ConfigError) as caught:
            fh.run(CONFIG, out="one", data=(x[20:], y[20:], x[:20], y[:20]), partition=[range(0, 20), range(20, 40)], model=model)
        self.assertEqual(caught.exception.key, "model")
        for text in texts:
            self.assertIn(text, str(caught.exception))
        self.assertFalse((self.folder / "one").exists())

    def test_modules_that_cannot_be_exported_are_refused_by_their_line(self):
        class Branches(torch.nn.Linear):
            def forward(self, x):
                scores = super().forward(x)
                if scores.sum() > 0:  # not known when it is exported
                    scores = -scores
                return scores

        line = Branches.forward.__code__.co_firstlineno + 2
        self.refused(Branches(5, 3), f"{__file__}:{line}: if scores.sum() > 0:", "torch.export cannot export the module")
        self.refused(Branches, "is the class Branches; expected a module; fix: Branches()")
        self.refused(Branches(5, 3).state_dict(), "is a state_dict; expected the module itself")

    def test_the_shape_comes_from_the_data_of_the_config(self):
        glyphs = {**CONFIG, "data": {"format": "glyphs", "num_train": 200, "num_test": 50, "partition": {"clients": 4}}}
        for number, first in enumerate((torch.nn.Conv2d(1, 2, 5, stride=4), torch.nn.Linear(784, 72))):
            net = torch.nn.Sequential(first, torch.nn.Flatten(), torch.nn.Linear(72, 10))
            run = fh.run(glyphs, out=f"run-{number}", model=net)
            self.assertEqual(set(run.state_dict()), set(net.state_dict()))

    def test_a_module_of_another_shape_is_refused(self):
        x, y = blots()
        with self.assertRaises(fh.ConfigError) as caught:
            fh.run(CONFIG, out="one", data=(x[20:], y[20:], x[:20], y[:20]), model=torch.nn.Linear(6, 3))
        self.assertEqual(caught.exception.key, "model")


if __name__ == "__main__":
    unittest.main()
