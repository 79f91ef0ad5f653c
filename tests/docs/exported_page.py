"""Runs what docs/models.md says of networks of PyTorch: exports the network that stands there, trains it with the config that stands there, loads the
result back, and compares its test loss with the run's own.

usage: exported_page.py FEDHIVE     PyTorch as for tests/docs/pytorch_page.py
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from pytorch_page import ROOT, numpy, skip, torch, write_data  # noqa: E402  finds PyTorch, or skips

SECTION = "## Any network of PyTorch"


def blocks():
    """Programs and configs of the section, in order."""
    section = (ROOT / "docs/models.md").read_text().split(SECTION + "\n")[1].split("\n## ")[0]
    return re.findall(r"^```(python|yaml)\n(.*?)^```$", section, re.M | re.S)


def main(fedhive):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        write_data(folder)
        pixels = numpy.fromfile("t10k-images-idx3-ubyte", numpy.uint8, offset=16).astype("float32").reshape(-1, 1, 28, 28) / 255
        labels = numpy.fromfile("t10k-labels-idx1-ubyte", numpy.uint8, offset=8).astype("int64")

        def test_loss():
            with torch.no_grad():
                return torch.nn.functional.cross_entropy(names["net"].eval()(torch.from_numpy(pixels)), torch.from_numpy(labels)).item()

        names = {"__name__": "page"}
        before = 0.0
        kinds = []
        for kind, text in blocks():
            kinds.append(kind)
            if kind == "python":
                try:
                    exec(compile(text, "docs/models.md", "exec"), names)
                except ModuleNotFoundError as missing:
                    skip(f"{missing}; scripts/setup --tests installs what torch.export imports")
                continue
            before = test_loss()
            Path("net.yaml").write_text(text)
            data = f"data={{format: idx, root: {folder}, partition: {{scheme: iid, clients: 10}}}}"
            ran = subprocess.run([fedhive, "run", "net.yaml", "--out", "results/runs/net", "--quiet", "--set", data, "--set", "device=cpu"], capture_output=True, text=True)
            assert ran.returncode == 0, ran.stderr
        assert kinds == ["python", "yaml", "python"], kinds
        wanted = json.loads(subprocess.run([fedhive, "evaluate", "results/runs/net", "--json"], check=True, capture_output=True, text=True).stdout)
        assert not names["net"].training
        loss = test_loss()
        assert abs(loss - wanted["test_loss"]) < 1e-5 * wanted["test_loss"] < 0.1 * abs(loss - before), (before, loss, wanted)
        print(f"test loss {before:.5f} before; after it {loss:.5f} in PyTorch, {wanted['test_loss']:.5f} of the run")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
