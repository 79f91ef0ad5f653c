#!/usr/bin/env python3
"""Tests of the Python package as pip installs it: its files come from a build (cmake --install), and it runs far from the checkout.

usage: package_test.py BUILD TORCH    the build's folder, and that of the LibTorch that it is built for
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--set", "rounds=1", "--set", "workers=1", "--set", "data.num_train=200", "--set", "data.num_test=50"]
REPORT = ROOT / ".deps/report"


class Package(unittest.TestCase):
    """The package in a folder of its own, as in site-packages. Its LibTorch engine no longer knows where the build's LibTorch was."""

    build = torch = Path()

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = Path(folder.name).resolve() / "site"
        subprocess.run(["cmake", "--install", cls.build, "--component", "python", "--prefix", cls.site / "fedhive"], check=True,
                       stdout=subprocess.DEVNULL)
        engine = cls.site / "fedhive/lib/libfedhive_libtorch.so"
        known = os.fsencode(cls.torch / "lib")
        content = engine.read_bytes()
        assert content.count(known) == 1, content.count(known)
        engine.write_bytes(content.replace(known, b"/" + b"x" * (len(known) - 1)))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fedhive(self, *arguments, python=None, status=0, **environment):
        """Runs `python3 -m fedhive`, which is what pip's command `fedhive` runs; returns what it says. No program is on its PATH but the system's."""
        command = python or ["-m", "fedhive", *map(str, arguments)]
        ended = subprocess.run([sys.executable, "-s", *command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                               env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.site), "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8",
                                    **environment})
        self.assertEqual(ended.returncode, status, ended.stdout)
        return ended.stdout

    def with_torch(self, version=None):
        """Puts a PyTorch beside the package: the build's, or one that only says this version."""
        torch = self.site / "torch"
        if version is None:
            torch.symlink_to(self.torch)
            self.addCleanup(torch.unlink)
            return torch
        (torch / "lib").mkdir(parents=True)
        written = [torch / "__init__.py", torch / "lib/libtorch_cpu.so", torch / "version.py"]
        for file in written:
            file.write_text(f"__version__ = '{version}+cpu'\n" if file.name == "version.py" else "")
        self.addCleanup(lambda: ([file.unlink() for file in written], (torch / "lib").rmdir(), torch.rmdir()))
        return torch

    def test_quickstart_trains_at_once(self):
        said = self.fedhive("run", "quickstart", *SMALL, "--out", "first")
        self.assertIn("test accuracy", said)
        self.assertTrue((self.folder / "first/rounds.csv").is_file())
        self.assertEqual(json.loads((self.folder / "first/manifest.json").read_text())["engine"], "direct")

    def test_names_are_those_of_configs_that_come_along_unless_there_is_such_a_file(self):
        for name in ("modes/async", "papers/mcmahan_2nn"):
            self.fedhive("show-config", name)
        self.assertIn("4 runs", self.fedhive("sweep", "sweeps/smoke", "--dry-run"))
        (self.folder / "quickstart").write_text("rounds: 1\n")
        self.assertIn("data.format", self.fedhive("show-config", "quickstart", status=2))

    def test_module_runs_the_program_in_the_package(self):
        self.fedhive(python=["-c", f"""
import fedhive as fh, fedhive.program, pathlib
assert fedhive.program.find() == pathlib.Path({str(self.site)!r}) / "fedhive/bin/fedhive", fedhive.program.find()
run = fh.run("quickstart", out="by_name", rounds=1, workers=1, set={{"data.num_train": 200, "data.num_test": 50}})
assert run.status == "finished", run.status
"""])

    def test_method_file_is_read_by_the_python_and_the_module_of_the_package(self):
        (self.folder / "pull.py").write_text("""
import sys
from pathlib import Path

import fedhive as fh

Path("read_by").write_text(f"{sys.executable}\\n{fh.__file__}")

@fh.gradient
def gradient(g, w, w_t):
    return g + 0.5 * (w - w_t)
""")
        self.assertIn("gradient", self.fedhive("method", "pull.py", PATH=""))
        python, module = (self.folder / "read_by").read_text().split("\n")
        self.assertTrue(os.path.samefile(python, sys.executable), python)
        self.assertEqual(module, str(self.site / "fedhive/__init__.py"))

    def test_without_pytorch_libtorch_is_refused_with_the_command_that_installs_it(self):
        # -S: a PyTorch of this Python is not the package's.
        said = self.fedhive(python=["-S", "-m", "fedhive", "run", "quickstart", *SMALL, "--set", "training.engine=libtorch"], status=2)
        self.assertRegex(said, r"PyTorch is not installed beside fedhive: pip install 'torch==\d+\.\d+\.\*', or use a model that")
        self.assertFalse((self.folder / "results").exists())
        self.assertRegex(self.fedhive(python=["-S", "-m", "fedhive", "doctor"]), r"libtorch +none.*\n +PyTorch is not installed beside fedhive")

    def test_another_pytorch_is_refused_by_name(self):
        torch = self.with_torch("2.3.1")
        for arguments, status in ((["doctor"], 0), (["run", "quickstart", "--set", "training.engine=libtorch"], 2)):
            said = self.fedhive(python=["-S", "-m", "fedhive", *arguments], status=status)
            self.assertRegex(said, re.escape(f"found PyTorch 2.3.1 in {torch}, but this fedhive was built for ") + r"\d+\.\d+")
        self.assertIn("test accuracy", self.fedhive("run", "quickstart", *SMALL))

    def test_pytorch_of_the_right_version_trains(self):
        torch = self.with_torch()
        self.assertRegex(self.fedhive(python=["-S", "-m", "fedhive", "doctor"]), r"libtorch +[\d.]+ in " + re.escape(str(torch)))
        self.fedhive(python=["-S", "-m", "fedhive", "run", "quickstart", *SMALL, "--out", "run", "--set", "training.engine=libtorch"])
        manifest = json.loads((self.folder / "run/manifest.json").read_text())
        self.assertEqual(manifest["engine"], "libtorch")
        self.assertRegex(manifest["libtorch"], r"^\d+\.\d+\.\d+$")

    def test_pytorch_of_another_folder_of_python_is_found(self):
        (self.folder / "torch").symlink_to(self.torch)
        said = self.fedhive(python=["-S", "-m", "fedhive", "doctor"], PYTHONPATH=f"{self.site}:{self.folder}")
        self.assertRegex(said, r"libtorch +[\d.]+ in " + re.escape(str(self.folder / "torch")))

    def test_report_without_its_packages_says_which_extra_brings_them(self):
        self.fedhive("run", "quickstart", *SMALL, "--out", "run")
        bare = self.folder / "bare_python"
        bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
        bare.chmod(0o755)
        self.assertIn("pip install 'fedhive[report]'", self.fedhive("report", "run", status=1, FEDHIVE_PYTHON=str(bare)))

    @unittest.skipUnless(REPORT.is_dir(), "scripts/setup --report")
    def test_report_with_its_packages_is_written(self):
        self.fedhive("run", "quickstart", *SMALL, "--out", "run")
        self.fedhive("report", "run", "--no-figures", PYTHONPATH=f"{self.site}:{REPORT}", HOME=str(self.folder))
        self.assertIn("quickstart", (self.folder / "run/report.html").read_text())

    def test_data_sets_go_to_the_current_folder(self):
        (self.folder / "sets/tinyshakespeare").mkdir(parents=True)
        (self.folder / "sets/tinyshakespeare/input.txt").write_text("not the plays")
        said = self.fedhive("data", "tinyshakespeare", status=1, FEDHIVE_DATA=str(self.folder / "sets"))
        self.assertIn("input.txt", said)
        self.assertFalse((self.site / "fedhive/data").exists())

    def test_metadata_agree_with_the_rest_of_the_project(self):
        project = (ROOT / "pyproject.toml").read_text()
        setup = (ROOT / "scripts/setup").read_text()
        minor = re.search(r"^torch_version=(\d+\.\d+)\.", setup, re.MULTILINE)[1]
        self.assertIn(f'torch = ["torch=={minor}.*"]', project)
        packages = set(re.findall(r"([\w-]+)==", re.search(r"^report_packages=\((.*)\)", setup, re.MULTILINE)[1]))
        extra = set(re.findall(r'"([\w-]+)>=', re.search(r"^report = \[(.*)\]", project, re.MULTILINE)[1]))
        self.assertEqual(packages, extra)
        version = re.search(re.search(r"^regex = '(.*)'", project, re.MULTILINE)[1], (ROOT / "CMakeLists.txt").read_text())["value"]
        self.assertIn(f"fedhive {version} (", self.fedhive("--version"))
        module, function = re.search(r'^fedhive = "(.*):(.*)"', project, re.MULTILINE).groups()
        self.assertIn(f"fedhive {version} (", self.fedhive(python=["-c", f"import sys; from {module} import {function} as f; sys.argv[1:] = ['--version']; f()"]))


if __name__ == "__main__":
    Package.torch = Path(sys.argv.pop())
    Package.build = Path(sys.argv.pop())
    unittest.main(verbosity=2)
