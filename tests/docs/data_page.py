"""Runs a program of docs/data.md and trains on the archives that it wrote, with the config that stands there.

usage: data_page.py FEDHIVE SECTION     SECTION: its head, without "From"; packages are those of .deps/python and .deps/report, where
                                        scripts/setup --tests puts them, or of python3; without them, or without a network to fetch the
                                        data that a program asks for, it is skipped
"""
import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [str(ROOT / ".deps/python"), str(ROOT / ".deps/report")]
# What a section's data have to give: classes, clients, a test accuracy that labels of other examples would not reach; of numbers to tell, clients
# and a mean squared error below the variance, which is 1.
WANTED = {"NumPy": (3, 10, 0.8), "scikit-learn": (10, 10, 0.8), "pandas": (2, 3, 0.8), "torchvision": (10, 10, 0.8), "Hugging Face datasets": (10, 10, 0.8)}
FILES = {"LEAF": (3, 5, 0.7), "Folders of images": (2, 5, 0.9)}  # of other formats, by their heads
NUMBERS = {"Numbers to tell": (10, 0.65)}
FETCHES = {"torchvision", "Hugging Face datasets"}


def write_patients(folder):
    """Whoever is old or has a high pressure is sick; three hospitals."""
    with open(folder / "patients.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "pressure", "sick", "hospital"])
        for number in range(600):
            age, pressure = 20 + 37 * number % 61, 90 + 53 * number % 101
            rows.writerow([age, pressure, "yes" if age + pressure > 190 else "no", ["north", "south", "west"][number % 3]])


def parts_of(page, section):
    """The program of a section, and its config: the first of the page, that of numbers and of other formats behind the program, that of owners under their head."""
    found = re.search(rf"^## (?:From )?{section}\n.*?^```python\n(.*?)^```$", page, re.M | re.S)
    program = found.group(1)
    config = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)
    first = page.index("\n## Owners\n") if "client=" in program else found.end() if section in {**NUMBERS, **FILES} else 0
    return program, config.search(page, first).group(1)


def main(fedhive, section):
    page = (ROOT / "docs/data.md").read_text()
    known = re.findall(r"^## From (.*)$", page, re.M)
    assert known == list(WANTED), f"docs/data.md has {known}"
    program, config = parts_of(page, section)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_patients(folder)
        path = os.pathsep.join([*PACKAGES, os.environ.get("PYTHONPATH", "")])
        ran = subprocess.run([sys.executable, "-c", program], cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        missing = re.search(r"^ModuleNotFoundError: (.*)$", ran.stderr, re.M)
        if missing:
            print(f"[skipped] {missing.group(1)}; scripts/setup --tests installs what is small")
            return
        if ran.returncode != 0 and section in FETCHES:
            print(f"[skipped] the data cannot be fetched: {ran.stderr.strip().splitlines()[-1]}")
            return
        assert ran.returncode == 0, ran.stderr
        (folder / "config.yaml").write_text(config)
        settings = ["rounds=30", "workers=0", "device=cpu", "training.batch_size=10", "training.optimizer.lr=0.1", "evaluation.every=30"]
        run = subprocess.run([fedhive, "run", folder / "config.yaml", "--out", folder / "run", *(f"--set={one}" for one in settings)], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        header, *rows = csv.reader((folder / "run/rounds.csv").open())
        if section in NUMBERS:
            clients, most = NUMBERS[section]
            error = float(rows[-1][header.index("test_mse")])
            assert "1 number each" in run.stdout and f"clients     {clients} by" in run.stdout, run.stdout
            assert error < most, error
            print(f"{section}: test MSE {error:.3f}")
            return
        classes, clients, least = {**WANTED, **FILES}[section]
        assert f"{classes} classes" in run.stdout and f"clients     {clients} by" in run.stdout, run.stdout
        accuracy = float(rows[-1][header.index("test_accuracy")])
        assert accuracy > least, accuracy
        print(f"{section}: test accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
