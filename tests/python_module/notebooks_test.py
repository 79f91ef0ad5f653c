#!/usr/bin/env python3
"""Tests of docs/notebooks and of runs in a kernel of Jupyter: interrupt, restart, bar. They need nbclient, ipykernel, pandas and Matplotlib.

What a notebook skips, because PyTorch or Flower is missing, is printed. With both, it runs: pip install torch 'flwr[simulation]'.

usage: notebooks_test.py [TestCase.test_name …]
"""
import os
import re
import signal
import sys
import unittest
import unittest.mock

from support import LONG, MARK, InFolder, marked, needs, python_path, root, wait_until  # first: it says where fedhive is

import fedhive as fh
from fedhive import program

NOTEBOOKS = sorted((root / "docs/notebooks").glob("*.ipynb"))
START = "import fedhive as fh\nrun = fh.{what}({config!r}, out='out', progress={progress})"
NEEDED = ("nbclient", "ipykernel", "pandas", "matplotlib")
SECONDS = 300


class InKernel(InFolder):
    """A test in a folder of its own whose kernels bear a mark and write nowhere else."""

    def setUp(self):
        super().setUp()
        self.mark = f"{os.getpid()}-{self.id()}"
        own = {name: str(self.folder / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "MPLCONFIGDIR")}
        path = os.pathsep.join([python_path(*NEEDED, "numpy", "tqdm"), os.environ.get("PYTHONPATH", "")])
        patch = unittest.mock.patch.dict(os.environ, {**own, MARK: self.mark, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                                                      "FEDHIVE_PROGRAM": str(program.find()), "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid in marked(self.mark)])


@needs(*NEEDED)
class Notebooks(InKernel):
    def execute(self, path):
        import nbformat
        from nbclient import NotebookClient
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"), "a stored output; clear all outputs")
        NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(self.folder)}}).execute()
        shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        for text in (output["text"] for output in shown if output["output_type"] == "stream"):
            for line in re.findall(r"^Skipped: .*", text, re.MULTILINE):
                print(f"[skipped] a part of {path.name}: {line}", file=sys.stderr)
        results = [output["data"].get("text/plain") for output in shown if "data" in output]
        self.assertNotIn("False", results)
        self.assertTrue(wait_until(lambda: not marked(self.mark), 30), marked(self.mark))
        return shown

    def test_first_run(self):
        shown = self.execute(root / "docs/notebooks/first_run.ipynb")
        self.assertEqual(sum("image/png" in output.get("data", {}) for output in shown), 1)
        self.assertIn("rounds | config: rounds: expected an integer", "".join(output.get("text", "") for output in shown))
        self.assertEqual(fh.open("runs/stopped").status, "interrupted by SIGINT")

    def test_own_data_and_model(self):
        self.execute(root / "docs/notebooks/own_data_and_model.ipynb")
        self.assertEqual(fh.open("runs/arrays").manifest["num_clients"], 3)

    def test_own_method(self):
        shown = self.execute(root / "docs/notebooks/own_method.ipynb")
        self.assertRegex("".join(output.get("text", "") for output in shown), r"strategy\.file: .*runs/wrong\.py:8: NameError")
        final = {name: [fh.open(f"runs/compare/{name}-{seed}").manifest["test_accuracy"] for seed in (1, 2, 3)] for name in ("FedAvg", "look ahead")}
        self.assertGreater(sum(final["look ahead"]), sum(final["FedAvg"]))  # the bits are the same everywhere
        self.assertIn("True", [output["data"].get("text/plain") for output in shown if "data" in output])  # Python's FedAvg is fedhive's
        self.assertGreater(fh.open("runs/in_python-1").clients["moved"].min(), 0)

    def test_sweep(self):
        shown = self.execute(root / "docs/notebooks/sweep.ipynb")
        self.assertEqual(sum("image/png" in output.get("data", {}) for output in shown), 2)
        self.assertEqual(len(fh.open("runs/sweep").runs), 18)

    def test_beside_flower(self):
        shown = self.execute(root / "docs/notebooks/beside_flower.ipynb")
        self.assertEqual(fh.open("runs/beside_flower").manifest["round"], 10)
        self.assertTrue(any("fedhive" in output.get("data", {}).get("text/plain", "") for output in shown))

    def test_each_notebook_has_a_test_and_a_link(self):
        page = (root / "docs/python.md").read_text(encoding="utf-8")
        for path in NOTEBOOKS:
            self.assertTrue(hasattr(self, f"test_{path.stem}"), path)
            self.assertIn(f"(notebooks/{path.name})", page)
        self.assertEqual(len(NOTEBOOKS), 5)


@needs(*NEEDED)
class Kernel(InKernel):
    def setUp(self):
        super().setUp()
        from jupyter_client.manager import KernelManager
        self.manager = KernelManager()
        self.manager.start_kernel(cwd=str(self.folder))
        self.addCleanup(self.manager.shutdown_kernel, now=True)
        self.client = self.manager.client()
        self.client.start_channels()
        self.addCleanup(self.client.stop_channels)
        self.client.wait_for_ready(timeout=SECONDS)

    def ended(self, message):
        """Waits for the reply to a message."""
        while True:
            reply = self.client.get_shell_msg(timeout=SECONDS)
            if reply["parent_header"].get("msg_id") == message:
                return reply["content"]

    def start(self, what="run", config=LONG):
        message = self.client.execute(START.format(what=what, config=config, progress=False))
        pattern = "out/rounds.csv" if what == "run" else "out/runs/*/rounds.csv"
        self.assertTrue(wait_until(lambda: any(path.read_bytes().count(b"\n") > 2 for path in self.folder.glob(pattern))), "the run has not begun")
        self.assertGreaterEqual(len(marked(self.mark)), 3)  # the kernel, the coordinator, a worker
        return message

    def kernel(self):
        return {self.manager.provisioner.pid}

    def test_an_interrupt_ends_the_run_and_the_kernel_goes_on(self):
        for what, config in ("run", LONG), ("sweep", {"base": LONG, "seeds": 2}):
            with self.subTest(what):
                message = self.start(what, config)
                self.manager.interrupt_kernel()
                self.assertEqual(self.ended(message)["ename"], "KeyboardInterrupt")
                self.assertEqual(set(marked(self.mark)), self.kernel())
                found = fh.open("out")
                self.assertEqual(found.status if what == "run" else found.manifest["exit_status"], "interrupted by SIGINT")
                reply = self.ended(self.client.execute("import shutil; fh.open('out'); shutil.rmtree('out')"))
                self.assertEqual(reply["status"], "ok")

    def test_a_restarted_kernel_leaves_no_program(self):
        for now in False, True:
            with self.subTest(now=now):
                self.start()
                before = self.kernel()
                self.manager.restart_kernel(now=now)
                self.client.wait_for_ready(timeout=SECONDS)
                self.assertNotEqual(self.kernel(), before)
                self.assertTrue(wait_until(lambda: set(marked(self.mark)) == self.kernel(), 20), marked(self.mark))
                self.assertRegex(fh.open("out").status, "interrupted by SIG(INT|TERM)")
                self.assertEqual(self.ended(self.client.execute("import shutil; shutil.rmtree('out')"))["status"], "ok")

    def shown(self, code):
        """Returns what a cell shows."""
        messages = []
        reply = self.client.execute_interactive(code, timeout=SECONDS, output_hook=messages.append)
        self.assertEqual(reply["content"]["status"], "ok", reply["content"])
        return messages

    @needs("tqdm")
    def test_the_bar_is_text_without_ipywidgets(self):
        hide = "import importlib.util as util\nutil.find_spec = lambda name, *_, find=util.find_spec: None if name == 'ipywidgets' else find(name)\n"
        for progress, expected in (None, True), (False, False):
            messages = self.shown(hide + START.format(what="run", config={**LONG, "rounds": 7}, progress=progress) + "\nimport shutil; shutil.rmtree('out')")
            texts = "".join(message["content"]["text"] for message in messages if message["msg_type"] == "stream")
            self.assertEqual(("7/7" in texts, "Warning" in texts), (expected, False), texts)

    @needs("tqdm", "ipywidgets")
    def test_the_bar_is_a_widget_with_ipywidgets(self):
        messages = self.shown(START.format(what="run", config={**LONG, "rounds": 7}, progress=None))
        self.assertTrue(any("application/vnd.jupyter.widget-view+json" in message["content"].get("data", {}) for message in messages))

    def test_errors_are_raised_with_their_keys(self):
        reply = self.ended(self.client.execute(START.format(what="run", config={**LONG, "training": {"cohort": "all"}}, progress=None)))
        self.assertEqual((reply["status"], reply["ename"]), ("error", "ConfigError"))
        self.assertTrue(reply["evalue"].startswith("config: training.cohort: expected an integer"), reply["evalue"])


if __name__ == "__main__":
    unittest.main()
