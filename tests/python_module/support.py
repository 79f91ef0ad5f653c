"""What the tests of fedhive's Python module share: a small run, folders, processes that are left. Python finds scripts/lib when this is imported."""
import importlib.util
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
root = Path(__file__).resolve().parents[2]
LIBRARY = str(root / "scripts/lib")
sys.path.insert(0, LIBRARY)
DEPS = [root / ".deps" / name for name in ("python", "report", "notebooks")]  # where scripts/setup --tests puts NumPy, pandas, nbclient
sys.path += map(str, DEPS)

MARK = "FEDHIVE_TEST_OF_PYTHON"  # in the environment of each process that a test starts
CONFIG = {"data": {"format": "glyphs", "num_train": 200, "num_test": 50, "partition": {"clients": 4}}, "model": {"name": "lr"}, "rounds": 2,
          "workers": 1, "device": "cpu"}
LONG = {**CONFIG, "rounds": 1000000}


def can_import(package):
    """Says whether this Python can import a package; that of .deps/python may be built for another."""
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


def python_path(*packages):
    """Returns the PYTHONPATH with which another Python finds fedhive and these packages where this one does."""
    specs = [importlib.util.find_spec(package) for package in packages]
    folders = [str(folder) for spec in specs for folder in DEPS if spec and spec.origin and Path(spec.origin).is_relative_to(folder)]
    return os.pathsep.join(dict.fromkeys([LIBRARY, *folders]))


def needs(*packages):
    """Skips a test, and says why, where a package is missing."""
    missing = [package for package in packages if not can_import(package)]
    if missing:
        print(f"[skipped] Python has no {', '.join(missing)}: pip install {' '.join(missing)}", file=sys.stderr)
    return unittest.skipIf(missing, f"pip install {' '.join(missing)}")


class InFolder(unittest.TestCase):
    """A test in a temporary folder of its own, which is the current one."""

    def setUp(self):
        before, folder = os.getcwd(), tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        self.folder = Path(os.getcwd())


def marked(mark):
    """Returns the ids of the processes, other than this one, that have the mark in their environment, and what they run."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            pass  # it has just ended, or is another user's
    return found


def wait_until(holds, seconds=60):
    """Waits until `holds()` is true, and says whether it was in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return bool(holds())
