"""Shared by the tests: a temporary folder with a small workload."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path

SMALL = {"id": "small", "model": "lr", "shape": [1, 2, 2], "classes": 3, "clients": 4, "examples": [6, 2, 5, 3], "cohort": 2, "rounds": 2,
         "batch_size": 4, "local_epochs": 1, "lr": 0.5, "momentum": 0.0, "dropout": False, "processes": 2, "data": "random", "root": "",
         "evaluate_every": 0, "num_test": 0}


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def workload_file(self, **changes):
        path = self.folder / "workload.json"
        path.write_text(json.dumps({**SMALL, **changes}))
        return path
