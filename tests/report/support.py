"""What the tests share: a folder of their own, with made-up runs in it."""
import shutil
import tempfile
import unittest
from pathlib import Path

import make_runs

ROOT = Path(__file__).resolve().parents[2]


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, name="run", *arguments, **changes):
        make_runs.make_run(self.folder / name, *arguments, **changes)
        return self.folder / name

    def make_sweep(self, name="sweep", **changes):
        make_runs.make_sweep(self.folder / name, **changes)
        return self.folder / name
