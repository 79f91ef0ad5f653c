"""Shared by the tests: paths, a temporary folder, and made-up measurements."""
import os
import shutil
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("FEDHIVE_BUILD", ROOT / "build/release"))
MANIFEST = {"date": "2026-11-21", "commit": "abc", "fedhive": "0.1.0", "libtorch": "2.11.0", "cpu_capability": "AVX2", "cpu": "A CPU (R) 9", "cores": 4,
            "device": "cpu", "cuda": "none", "dirty": False, "compiler": "c++ 12", "workers": 2, "threads": 1, "repeats": 3, "busy_before": 0.1,
            "commands": ["fedhive bench --repeats 3"]}


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


def repeat(fedhive_s, ideal_s, **more):
    """One repeat of two sides."""
    phases = {"pull_down": 0.001, "train": fedhive_s - 0.004, "barrier": 0.001, "aggregate": 0.001, "server_step": 0.0005, "rest": 0.0005, "evaluate": 0.02,
              "gather": 0.001, "steps": fedhive_s - 0.008, "update": 0.002, "wait": 0.001}
    return {"fedhive": {"round_s": fedhive_s, "whole_s": 9.0, "accuracy": None, "phases": phases, **more}, "ideal": {"round_s": ideal_s, "whole_s": 3.0}}


def workload_found(workload, *repeats):
    return {"workload": workload, "how": {"fedhive": "", "ideal": ""}, "memory": {"fedhive": 512.0, "ideal": None}, "repeats": list(repeats)}
