"""Runs the program of docs/pytorch.md on a run of each model, and compares test loss and accuracy with the run's.

usage: pytorch_page.py FEDHIVE     PyTorch is that of python3, or of .deps/torch, with empty libraries in place of missing ones of
                                   CUDA; safetensors and NumPy are those of .deps/python, where scripts/setup --tests puts them
"""
import contextlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".deps/python"))
sys.path.append(str(ROOT / ".deps/torch"))
MODELS = {"lr": "", "mlp": ", hidden: 24", "mnist_cnn": "", "cnn_m": ", dropout: false", "net62k": "", "mcmahan_cnn": "", "resnet20": ""}
COMPARED_BY_A_STEP = ["resnet18", "char_lstm", "char_transformer"]  # in layers_in_pytorch.py
SAME_NETWORKS = ["linear_regression"]  # equal to another model, as the page says; for other data than this program's
TEST_EXAMPLES = 200
STUBS = "FEDHIVE_TEST_STUBS"  # set once this program runs with them


def skip(reason):
    print(f"[skipped] {reason}")
    sys.exit(0)


def run_again_with_stubs(problem):
    """A wheel without CUDA libraries can only be imported with libraries of those names: tools/lib/peers.sh makes them."""
    if STUBS in os.environ or not (ROOT / ".deps/torch/torch/lib").is_dir() or not (shutil.which("readelf") and shutil.which("g++")):
        skip(f"Python cannot import torch ({problem}); python3 -m pip install torch brings it")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / ".deps/torch/torch", f"{folder}/torch")
        os.mkdir(f"{folder}/stubs")
        made = subprocess.run(["bash", "-c", f"set -e; root='{ROOT}'; source '{ROOT}/tools/lib/peers.sh'; deps_peers='{folder}'; make_stubs"],
                              capture_output=True, text=True)
        if made.returncode != 0:
            skip(f"Python cannot import torch ({problem}), and there is no way around it: {made.stderr.strip()}")
        sys.exit(subprocess.run([sys.executable, *sys.argv], env={**os.environ, STUBS: "1", "LD_LIBRARY_PATH": f"{folder}/stubs"}).returncode)


try:
    import numpy
    import safetensors  # noqa: F401
except ImportError as missing:
    skip(f"{missing}; scripts/setup --tests installs it")
try:
    import torch
except (ImportError, OSError) as missing:
    run_again_with_stubs(missing)


def write_idx(file, values):
    header = bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
    file.write_bytes(header + values.astype(numpy.uint8).tobytes())


def write_data(folder):
    """Made-up digits: each class is a blot at its own position, with so much noise that a few rounds do not learn all of it."""
    draw = random.Random(1)
    for part, size in {"train": 600, "t10k": TEST_EXAMPLES}.items():
        labels = numpy.frombuffer(draw.randbytes(size), numpy.uint8) % 10
        images = numpy.frombuffer(draw.randbytes(size * 784), numpy.uint8).reshape(size, 28, 28) // 2
        for image, label in zip(images, labels):
            row, column = 4 + 9 * (label // 4), 2 + 6 * (label % 4)
            image[row:row + 4, column:column + 4] += 30
        write_idx(folder / f"{part}-images-idx3-ubyte", images)
        write_idx(folder / f"{part}-labels-idx1-ubyte", labels)


def train(fedhive, folder, model):
    (folder / "config.yaml").write_text(
        "rounds: 3\nworkers: 1\ndevice: cpu\n"
        f"data: {{format: idx, root: {folder}, normalize: {{mean: [0.31], std: [0.18]}}, partition: {{clients: 2}}}}\n"
        f"model: {{name: {model}{MODELS[model]}}}\ntraining: {{batch_size: 8, optimizer: {{lr: 0.05}}}}\n")
    subprocess.run([fedhive, "run", folder / "config.yaml", "--out", folder / model, "--quiet"], check=True)
    evaluated = subprocess.run([fedhive, "evaluate", folder / model, "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(evaluated)


def run_page(program, folder, model, *more):
    sys.argv[1:] = [str(folder / model), str(folder), *more]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/pytorch.md", "exec"), {"__name__": "page"})
    return dict(re.findall(r"^(test_\w+) (\S+)$", printed.getvalue(), re.M)), printed.getvalue()


def check_clients_own_model(program, fedhive, folder):
    """All examples are equal, so held-out examples equal the page's test examples."""
    for file, size in {"train-images": 20, "t10k-images": 1}.items():
        write_idx(folder / f"{file}-idx3-ubyte", numpy.tile(numpy.arange(784, dtype=numpy.uint8).reshape(1, 28, 28), (size, 1, 1)))
    for file, size in {"train-labels": 20, "t10k-labels": 1}.items():
        write_idx(folder / f"{file}-idx1-ubyte", numpy.full(size, 3))
    (folder / "config.yaml").write_text(
        "rounds: 3\nworkers: 1\ndevice: cpu\n"
        f"data: {{format: idx, root: {folder}, partition: {{clients: 2, holdout: 0.2}}}}\n"
        "model: {name: mlp, hidden: 8, local: [fc1.bias, 'fc3.*']}\ntraining: {cohort: 1, batch_size: 4, optimizer: {lr: 0.01}}\n"
        "evaluation: {clients: {every: 1}}\n")
    subprocess.run([fedhive, "run", folder / "config.yaml", "--out", folder / "own", "--quiet"], check=True)
    rows = (folder / "own/client_accuracy.csv").read_text().splitlines()
    names = rows[0].split(",")
    losses = []
    for row in rows[1:]:
        client = dict(zip(names, row.split(",")))
        found, printed = run_page(program, folder, "own", client["client_id"])
        losses.append(float(found["test_loss"]))
        assert abs(losses[-1] - float(client["loss"])) < 1e-4 * losses[-1], (printed, client)
    assert len(losses) == 2 and abs(losses[0] - losses[1]) > 0.01 * losses[0], losses  # they were trained differently
    print(f"two clients' own models: losses {losses[0]:.4f} and {losses[1]:.4f}, and in PyTorch as well")


def main(fedhive):
    page = (ROOT / "docs/pytorch.md").read_text()
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S))
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        for model in MODELS:
            wanted = train(fedhive, folder, model)
            found, printed = run_page(program, folder, model)
            # Rounding may change the order of two scores in one example, but not in more.
            assert abs(float(found["test_accuracy"]) - wanted["test_accuracy"]) < 1.5 / TEST_EXAMPLES, (model, printed, wanted)
            assert abs(float(found["test_loss"]) - wanted["test_loss"]) < 1e-4 * wanted["test_loss"], (model, printed, wanted)
            own = [float(word) for word in re.search("the run's own (.*)", printed).group(1).split()]
            assert own == [wanted["test_loss"], wanted["test_accuracy"]], (model, printed, wanted)
            print(f"{model}: loss {wanted['test_loss']:.4f}, accuracy {wanted['test_accuracy']:.4f}, and in PyTorch as well")
        check_clients_own_model(program, fedhive, folder)
    known = {file.stem for file in (ROOT / "clients/models/named").glob("*.cpp")}
    tested = [*MODELS, *COMPARED_BY_A_STEP, *SAME_NETWORKS]
    assert all(f"`{model}`" in page for model in SAME_NETWORKS)
    assert known == set(tested), f"docs/pytorch.md rebuilds {tested}, there are {sorted(known)}"  # the page lacks a model


if __name__ == "__main__":
    main(sys.argv[1])
