"""Runs the programs of docs/models.md about PyTorch networks and frozen parts: exports the page's network, trains it with the
page's config, loads the result back, and compares its test loss with the run's. Tensors without a gradient must stay, all
others must change. With `resnet18`: a step of torchvision's own network is compared with PyTorch's.

usage: exported_page.py FEDHIVE [resnet18]     PyTorch as for tests/docs/pytorch_page.py; torchvision is that of .deps/libraries, where
                                               scripts/setup --tests puts it
"""
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
from pytorch_page import ROOT, numpy, skip, torch, write_data  # noqa: E402  finds PyTorch, or skips

SECTIONS = ["## Any network of PyTorch", "## A file as layers", "## Small layers beside frozen ones"]
OF_TOKENS = "## Networks of tokens"
BLOCK, LENGTH = 500, 20  # of its config
SIDE, EXAMPLES, RATE = 64, 20, 0.05  # for torchvision's network: on a smaller image its last norms would get a single value


def blocks(title):
    """Programs and configs of the section, in order."""
    section = (ROOT / "docs/models.md").read_text().split(title + "\n")[1].split("\n## ")[0]
    return re.findall(r"^```(python|yaml)\n(.*?)^```$", section, re.M | re.S)


def test_windows(file):
    """Windows of the last fifth of each block, and the character after each position."""
    text = file.read_bytes()
    numbers = {byte: number for number, byte in enumerate(sorted(set(text)))}
    ends = [text[at:at + BLOCK][BLOCK - BLOCK // 5:] for at in range(0, len(text), BLOCK)]
    rows = [[numbers[byte] for byte in end[at:at + LENGTH + 1]] for end in ends for at in range(0, len(end) - LENGTH, LENGTH)]
    windows = torch.tensor(rows)
    return windows[:, :-1], windows[:, 1:]


def run_section(title, fedhive, data, examples, labels):
    """Runs the section's programs and config, with other data if given."""
    def test_loss():
        with torch.no_grad():
            return torch.nn.functional.cross_entropy(names["net"].eval()(examples).flatten(0, -2), labels.flatten()).item()

    names = {"__name__": "page"}
    before, out, kinds, first = 0.0, Path("results/runs/net"), [], {}
    shutil.rmtree(out, ignore_errors=True)
    for kind, text in blocks(title):
        kinds.append(kind)
        if kind == "python":
            try:
                exec(compile(text, "docs/models.md", "exec"), names)
            except ModuleNotFoundError as missing:
                skip(f"{missing}; scripts/setup --tests installs what torch.export imports")
            continue
        before = test_loss()
        first = {name: (tensor.requires_grad, tensor.detach().clone()) for name, tensor in names["net"].named_parameters()}
        Path("net.yaml").write_text(text)
        sets = [argument for option in [*data, "device=cpu"] for argument in ("--set", option)]
        ran = subprocess.run([fedhive, "run", "net.yaml", "--out", out, "--quiet", *sets], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    assert kinds == ["python", "yaml", "python"], kinds
    for name, tensor in names["net"].named_parameters():
        trained, value = first[name]
        assert torch.equal(tensor, value) != trained, name
    wanted = json.loads(subprocess.run([fedhive, "evaluate", out, "--json"], check=True, capture_output=True, text=True).stdout)
    loss = test_loss()
    assert abs(loss - wanted["test_loss"]) < 1e-5 * wanted["test_loss"] < 0.1 * abs(loss - before), (before, loss, wanted)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["model_form"] == ("layers" if title in SECTIONS[1:] + [OF_TOKENS] else "graph"), manifest
    kept = sum(value.numel() for trained, value in first.values() if not trained)
    assert manifest.get("num_frozen", 0) == kept, (manifest, kept)
    print(f"{title[3:]}: test loss {before:.5f} before; after it {loss:.5f} in PyTorch, {wanted['test_loss']:.5f} of the run; {kept} values stayed")


def compare_resnet18(fedhive):
    """One client with all examples in one batch takes one step, in this folder."""
    sys.path.append(str(ROOT / ".deps/libraries"))
    if not torch.__version__.startswith("2.11."):
        skip(f"the torchvision of scripts/setup --tests goes with PyTorch 2.11, and this one is {torch.__version__}")
    try:
        import torchvision
        from safetensors.torch import load_file
        net = torchvision.models.resnet18(num_classes=10).train()
        program = torch.export.export(net, (torch.zeros(2, 3, SIDE, SIDE),), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
    except ModuleNotFoundError as missing:
        skip(f"{missing}; scripts/setup --tests installs it")
    torch.export.save(program, "net.pt2")
    examples, labels = torch.randn(EXAMPLES, 3, SIDE, SIDE), torch.arange(EXAMPLES) % 10
    for part in ("train", "test"):
        numpy.savez(f"{part}.npz", x=examples.numpy(), y=labels.numpy())
    Path("net.yaml").write_text(f"rounds: 1\nworkers: 0\ndevice: cpu\ndata: {{format: npz, train: train.npz, test: test.npz, partition: {{clients: 1}}}}\n"
                                f"model: {{file: net.pt2}}\ntraining: {{batch_size: {EXAMPLES}, optimizer: {{lr: {RATE}}}}}\n")
    ran = subprocess.run([fedhive, "run", "net.yaml", "--out", "net", "--quiet"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr

    before = {name: tensor.detach().clone() for name, tensor in net.state_dict().items()}
    loss = torch.nn.functional.cross_entropy(net(examples), labels)
    loss.backward()
    after = load_file("net/model.safetensors")
    assert set(after) == set(before), set(after) ^ set(before)
    exact = copy.deepcopy(net).double()  # in f32 some activation is on the other side of a ReLU's edge, in PyTorch too
    exact.load_state_dict(before)
    exact.zero_grad()
    torch.nn.functional.cross_entropy(exact(examples.double()), labels).backward()
    largest = max(parameter.grad.abs().max().item() for parameter in exact.parameters())
    difference = max(((before[name].double() - after[name].double()) / RATE - parameter.grad).abs().max().item()
                     for name, parameter in exact.named_parameters())
    assert difference < 1e-4 * largest, (largest, difference)
    for name, statistics in net.named_buffers():
        if not name.endswith("num_batches_tracked"):  # only in the file
            assert torch.allclose(after[name], statistics, rtol=1e-4, atol=1e-5) and not torch.equal(after[name], before[name]), name
    net.load_state_dict(after)
    with torch.no_grad():
        test_loss = torch.nn.functional.cross_entropy(net.eval()(examples), labels).item()
    header, row = [line.split(",") for line in Path("net/rounds.csv").read_text().splitlines()[:2]]
    losses = {name: float(value) for name, value in zip(header, row) if name in ("train_loss", "test_loss")}
    assert abs(losses["train_loss"] - loss.item()) < 1e-4 * loss.item() and abs(losses["test_loss"] - test_loss) < 1e-4 * test_loss, (losses, loss, test_loss)
    print(f"torchvision {torchvision.__version__}, resnet18: loss {loss.item():.5f}, largest gradient {largest:.2g}, off by {difference:.1g}")


def main(fedhive, *what):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if what == ("resnet18",):
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)
            return compare_resnet18(fedhive)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        write_data(folder)
        pixels = numpy.fromfile("t10k-images-idx3-ubyte", numpy.uint8, offset=16).astype("float32").reshape(-1, 1, 28, 28) / 255
        labels = numpy.fromfile("t10k-labels-idx1-ubyte", numpy.uint8, offset=8).astype("int64")
        data = [f"data={{format: idx, root: {folder}, partition: {{scheme: iid, clients: 10}}}}"]
        for title in SECTIONS:
            run_section(title, fedhive, data, torch.from_numpy(pixels), torch.from_numpy(labels))
        Path("speech.txt").write_text("".join("to be, or not: that"[(i + i // 61) % 19] for i in range(4 * BLOCK)))
        run_section(OF_TOKENS, fedhive, [], *test_windows(Path("speech.txt")))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
