"""Runs a program of docs/data.md and trains on the archives that it writes, with the config of that page.

usage: data_page.py FEDHIVE SECTION     SECTION: its heading without "From"; packages are those of .deps/python, .deps/report and
                                        .deps/libraries, where scripts/setup --tests puts them, or of python3; without them the
                                        case is skipped. Nothing is downloaded: a program's data are placed where its package
                                        looks first
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [str(ROOT / ".deps" / folder) for folder in ("python", "report", "libraries")]
# Requirements of a section's data: classes, clients, a test accuracy that labels of other examples would not reach; for
# regression, clients and a mean squared error below the variance, which is 1.
WANTED = {"NumPy": (3, 10, 0.8), "scikit-learn": (10, 10, 0.8), "pandas": (2, 3, 0.8), "torchvision": (10, 10, 0.8), "Hugging Face datasets": (10, 10, 0.8)}
FILES = {"LEAF": (3, 5, 0.7), "Folders of images": (2, 5, 0.9)}  # other formats, by headings
NUMBERS = {"Numbers": (10, 0.65)}
DIGITS = {"train": 400, "test": 100}  # for programs that ask for MNIST


def digits(count):
    """Images of MNIST's size, each class a blot at its own position, and their classes."""
    import numpy
    images, labels = numpy.random.default_rng(count).integers(0, 60, (count, 28, 28), "uint8"), numpy.arange(count) % 10
    for image, label in zip(images, labels):
        row, column = 4 + 9 * (label // 4), 2 + 6 * (label % 4)
        image[row:row + 4, column:column + 4] += 120
    return images, labels


def write_mnist_of_torchvision(folder):
    raw = folder / "data/MNIST/raw"
    raw.mkdir(parents=True)
    for part, count in DIGITS.items():
        for kind, values in zip(("images-idx3", "labels-idx1"), digits(count)):
            header = bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
            (raw / f"{part.replace('test', 't10k')}-{kind}-ubyte").write_bytes(header + values.astype("uint8").tobytes())


def write_mnist_of_hugging_face(folder):
    """A data set in the hub's form: images as files, listed in tables."""
    import pyarrow.parquet
    from PIL import Image

    def file(image):
        written = io.BytesIO()
        Image.fromarray(image).save(written, "png")
        return {"bytes": written.getvalue(), "path": "digit.png"}

    features = {"image": {"_type": "Image"}, "label": {"names": [str(label) for label in range(10)], "_type": "ClassLabel"}}
    tables = folder / "ylecun/mnist/mnist"
    tables.mkdir(parents=True)
    for part, count in DIGITS.items():
        images, labels = digits(count)
        table = pyarrow.table({"image": [file(image) for image in images], "label": labels})
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        pyarrow.parquet.write_table(table, tables / f"{part}-00000-of-00001.parquet")


WRITE = {"torchvision": write_mnist_of_torchvision, "Hugging Face datasets": write_mnist_of_hugging_face}


def skip(reason):
    print(f"[skipped] {reason}")
    sys.exit(0)


def folder_of_torch():
    """The PyTorch of torchvision, of a matching version; missing CUDA libraries are replaced by empty ones."""
    from pytorch_page import torch  # finds it, or skips
    if not torch.__version__.startswith("2.11."):
        skip(f"the torchvision of scripts/setup --tests goes with PyTorch 2.11, and this one is {torch.__version__}")
    return str(Path(torch.__file__).parents[1])


def write_patients(folder):
    """Sick are the old and those with a high pressure; three hospitals."""
    with open(folder / "patients.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "pressure", "sick", "hospital"])
        for number in range(600):
            age, pressure = 20 + 37 * number % 61, 90 + 53 * number % 101
            rows.writerow([age, pressure, "yes" if age + pressure > 190 else "no", ["north", "south", "west"][number % 3]])


def parts_of(page, section):
    """A section's program and its config: the section's own, or that of Owners if the program writes owners, or the page's first."""
    text = re.search(rf"^## (?:From )?{section}\n(.*?)^## ", page, re.M | re.S).group(1)
    program = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S).group(1)
    config = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)
    others = page[page.index("\n## Owners\n"):] if "client=" in program else page
    return program, (config.search(text) or config.search(others)).group(1)


def main(fedhive, section):
    page = (ROOT / "docs/data.md").read_text()
    known = re.findall(r"^## From (.*)$", page, re.M)
    assert known == list(WANTED), f"docs/data.md has {known}"
    program, config = parts_of(page, section)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_patients(folder)
        packages = [*PACKAGES, *([folder_of_torch()] if section == "torchvision" else [])]
        if section in WRITE:
            sys.path[:0] = PACKAGES
            try:
                WRITE[section](folder)
            except ModuleNotFoundError as missing:
                skip(f"{missing}; scripts/setup --tests installs it")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*packages, os.environ.get("PYTHONPATH", "")]),
                       "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
        ran = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
        missing = re.search(r"^ModuleNotFoundError: (.*)$", ran.stderr, re.M)
        if missing:
            skip(f"{missing.group(1)}; scripts/setup --tests installs it")
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
