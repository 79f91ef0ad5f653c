#!/usr/bin/env python3
"""Tests of the tracer of method files, scripts/lib/fedhive: examples, mistakes, the command. Needs the standard library alone.

usage: tracer_test.py [TestCase.test_name …]
"""
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from support import EXAMPLES, PLACES, box_of, here, method, root  # first: it says where fedhive is

import fedhive as fh
from fedhive.context import MethodError, reading
from fedhive.tracer import Tracer
from mistakes import MISTAKES


class Examples(unittest.TestCase):
    def test_each_example_traces_and_says_whose_it_is(self):
        self.assertGreaterEqual(len(EXAMPLES), 30)
        for path in EXAMPLES:
            with self.subTest(path.stem):
                box = method.box_of(path)
                self.assertEqual((box["version"], box["method"]), (1, path.stem))
                self.assertRegex(box["doc"], r"^[\w -]+.*: .+ (19|20)\d\d \(")
                self.assertRegex(box["source_sha256"], r"^[0-9a-f]{64}$")
                self.assertTrue(any(place in box for place in PLACES))
                self.assertEqual(json.loads(json.dumps(box)), box)

    def test_ifca_has_as_many_models_as_its_file_says_and_not_one(self):
        text = (root / "configs/methods/ifca.py").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ifca.py"
            for count in (1, 2, 5, 9):
                path.write_text(text.replace('"models", 3', f'"models", {count}'), encoding="utf-8")
                if count in (1, 9):
                    with self.assertRaisesRegex(MethodError, f"ifca.py:.*key 'models': its default {count} is outside {'least=2' if count == 1 else 'most=8'}"):
                        method.box_of(path)
                    continue
                box = method.box_of(path)
                self.assertEqual([m["name"] for m in box["memories"]], [f"m_{j}" for j in range(1, count + 1)] + ["mine"])
                self.assertEqual(sum(line.startswith("m_") for line in box["server"]), count)

    def test_the_golden_boxes_are_those_of_the_files(self):
        golden = json.loads((root / "tests/golden/methods.json").read_text(encoding="utf-8"))
        self.assertEqual(sorted(golden), [path.stem for path in EXAMPLES])
        for path in EXAMPLES:
            self.assertEqual(golden[path.stem]["box"], method.box_of(path), f"{path.name} changed: tests/golden/methods.py makes methods.json anew")

    def test_a_box_says_what_the_file_declares_in_the_order_of_the_contract(self):
        box = method.box_of(root / "configs/methods/scaffold.py")
        self.assertEqual(list(box), ["version", "method", "doc", "weighting", "memories", "gradient", "end", "server", "source_sha256"])
        self.assertEqual(box["weighting"], "uniform")
        self.assertEqual(box["memories"], [{"name": "c", "owner": "server", "first": 0, "down": True}, {"name": "c_k", "owner": "client", "first": 0},
                                           {"name": "d", "owner": "visit", "first": 0, "up": True}])
        self.assertEqual(box["end"], ["let change = (w_t - w) / (steps * lr) - c", "d = change", "c_k = c_k + change"])
        self.assertEqual(box["server"], ["w = w + server_lr * u", "c = c + received * d / clients"])
        box = method.box_of(root / "configs/methods/fednova.py")
        self.assertEqual(box["keys"], [{"name": "rho", "default": 0.0, "least": 0, "below": 1, "doc": "the client optimiser's momentum (ρ)"}])
        self.assertEqual(box["cohort"], ["let p = k.n / sum_k(k.n)", "let t1 = 1 - rho", "let tau = (k.steps - rho * (1 - rho^k.steps) / t1) / t1",
                                         "weight = p / tau", "tau_eff = sum_k(p * tau)"])
        self.assertEqual(box["server"], ["w = w + server_lr * tau_eff * u"])

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no NumPy")
    def test_a_box_says_what_python_runs(self):
        marked = "mu = fh.key('mu', 2, integer=True)\nsizes = [0] * mu\nkept = fh.memory('kept', of='client', first='w_t')\n" \
                 "@fh.visit(python=True)\ndef mine(vector, mu):\n    pass\n"
        box = box_of(marked)
        self.assertEqual(box["python"], {"visit": {"function": "mine", "arguments": ["vector", "mu"], "memories": {"kept": {"shape": "model", "first": "w_t"}}}})
        self.assertNotIn("memories", box)
        box = box_of("@fh.gradient\ndef gradient(g):\n    return 2 * g\n@fh.server(python=True)\ndef mine(updates):\n    return updates[0]\n")
        self.assertEqual((box["gradient"], box["python"]["server"]["function"]), (["g = 2 * g"], "mine"))


class Mistakes(unittest.TestCase):
    def test_each_bad_file_is_refused_at_its_line_with_what_is_allowed(self):
        files = {path.stem: path for path in (here / "bad").glob("*.py")}
        self.assertEqual(sorted(files), sorted(MISTAKES))
        for name, (line, *says) in MISTAKES.items():
            if name == "numpy_function" and not importlib.util.find_spec("numpy"):
                continue
            with self.subTest(name), self.assertRaises(MethodError) as caught:
                method.box_of(files[name])
            text = str(caught.exception)
            self.assertTrue(text.startswith(f"{files[name]}:{line}: " if line else f"{files[name]}: "), text)
            for part in says:
                self.assertIn(part, text)

    def test_a_path_is_named_as_it_was_given(self):
        before = os.getcwd()
        os.chdir(here)
        try:
            for given in ("bad/index.py", "./bad/index.py", str(here / "bad/index.py")):
                with self.assertRaises(MethodError) as caught:
                    method.box_of(given)
                self.assertTrue(str(caught.exception).startswith(given + ":4: "))
        finally:
            os.chdir(before)

    def test_files_that_cannot_be_read_are_refused(self):
        for path, says in ((here / "bad/none.py", "cannot be read: No such file"), (here / "bad", "cannot be read: Is a directory")):
            with self.assertRaises(MethodError) as caught:
                method.box_of(path)
            self.assertIn(f"{path}: {says}", str(caught.exception))
        with tempfile.TemporaryDirectory() as folder:
            for content in (b"\xff\xfe import", b"x = '\0'\n"):
                (Path(folder) / "x.py").write_bytes(content)
                with self.assertRaisesRegex(MethodError, r"x\.py(:1)?: (Syntax|Value)Error"):
                    method.box_of(Path(folder) / "x.py")


class Process(unittest.TestCase):
    def test_two_files_do_not_mix(self):
        one, other = root / "configs/methods/scaffold.py", root / "configs/methods/feddc.py"
        first = [method.box_of(path) for path in (one, other)]
        with self.assertRaises(MethodError):
            method.box_of(here / "bad/declared_twice.py")
        self.assertEqual([method.box_of(path) for path in (one, other)], first)
        self.assertEqual([method.box_of(path) for path in (other, one)], first[::-1])

    def test_threads_do_not_mix(self):
        expected, seen = {path: method.box_of(path) for path in EXAMPLES[:8]}, {}

        def trace(path):
            seen[path] = method.box_of(path)

        threads = [threading.Thread(target=trace, args=(path,)) for path in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, expected)

    def test_a_symbol_of_one_file_is_refused_in_another(self):
        one, other = Tracer("one.py", "/one.py"), Tracer("other.py", "/other.py")
        with reading(one):
            key = fh.key("mu", 0.5)
        with reading(other), self.assertRaisesRegex(MethodError, "other.py: 'mu' .* belongs to another method file"):
            2 * key

    def test_outside_of_a_file_there_is_nothing_to_declare(self):
        for call in (lambda: fh.key("mu", 0.5), lambda: fh.sqrt(2), lambda: fh.gradient(lambda g: g)):
            with self.assertRaisesRegex(MethodError, "python3 -m fedhive.method FILE"):
                call()
        self.assertFalse(hasattr(fh, "squareroot"))

    def test_what_watches_calls_goes_on_watching(self):
        def watch(*_):
            pass

        before = sys.getprofile()
        sys.setprofile(watch)
        try:
            method.box_of(EXAMPLES[0])
            self.assertIs(sys.getprofile(), watch)
        finally:
            sys.setprofile(before)

    def test_the_command_prints_one_object(self):
        path = root / "configs/methods/fedprox.py"
        environment = {**os.environ, "PYTHONPATH": str(root / "scripts/lib"), "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-m", "fedhive.method", str(path)], env=environment, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(json.loads(done.stdout.decode("utf-8")), method.box_of(path))

    def test_the_command_ends_with_two_for_mistakes_and_wrong_usage(self):
        bad = str(here / "bad/index.py")
        for arguments, says in (([bad], f"{bad}:4: an index"), ([], "usage: "), (["a", "b"], "usage: "), (["-x"], "usage: ")):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                self.assertEqual(method.main(arguments), 2)
            self.assertIn(says, errors.getvalue())
        with contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(method.main(["-h"]), 0)
        self.assertIn("usage: ", output.getvalue())

    def test_what_a_file_prints_does_not_get_into_the_box(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()) as output:
            box_of("print('hello')\n@fh.gradient\ndef gradient(g):\n    print(g)\n    return g\n")
        self.assertEqual(output.getvalue(), "")
        self.assertIn("hello", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
