"""Replicas against PyTorch: the same model, data, order and hyperparameters under DistributedDataParallel, over Gloo.

usage: ddp.py CASE DDP_TOOL        PyTorch is that of python3, or of .deps/torch if its Python part can be loaded; safetensors and
                                   NumPy are looked for in .deps/python, where scripts/setup --tests puts them, then elsewhere

The examples are MNIST's if data/mnist exists (scripts/data mnist), otherwise glyphs.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / ".deps/python"))
sys.path.append(str(ROOT / ".deps/torch"))
TOLERANCE = 1e-6  # float32 sums in another order; parameters are below 1, and a step changes one by about 1e-2
MOVEMENT = 0.02   # smallest change by training of the parameter that changes most


def skip(reason):
    print(f"[skipped] {reason}")
    sys.exit(0)


try:
    import safetensors
    from safetensors.numpy import load_file, save_file
except ImportError as missing:
    skip(f"{missing}; scripts/setup --tests installs it")
try:
    import torch
    from torch import distributed, multiprocessing, nn
    from torch.nn import functional
    from torch.utils.data import DistributedSampler
except (ImportError, OSError) as missing:
    skip(f"Python cannot import torch ({missing}); python3 -m pip install torch brings it")
if not (distributed.is_available() and distributed.is_gloo_available()):
    skip(f"torch {torch.__version__} has no Gloo")


class MnistCnn(nn.Module):
    """mnist_cnn without dropout, whose masks differ between programs."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = functional.relu(functional.max_pool2d(self.conv2(x), 2))
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


def load_tensors(file):
    return {name: torch.from_numpy(array.copy()) for name, array in load_file(file).items()}


def train_rank(rank, ranks, folder):
    """DistributedDataParallel as users write it."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    task = load_file(folder / "task.safetensors")
    with safetensors.safe_open(folder / "task.safetensors", framework="numpy") as opened:
        options = {name: float(value) for name, value in opened.metadata().items()}
    examples = ((torch.from_numpy(task["examples"].astype("float32")) / 255) - 0.1307) / 0.3081
    labels = torch.from_numpy(task["labels"].astype("int64"))
    model = MnistCnn()
    model.load_state_dict(load_tensors(folder / "initial.safetensors"))
    replica = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(replica.parameters(), lr=options["lr"], momentum=options["momentum"], weight_decay=options["weight_decay"])
    for order in task["order"]:
        for batch in torch.from_numpy(order[rank].astype("int64")).split(int(options["batch_size"])):
            optimizer.zero_grad()
            functional.cross_entropy(replica(examples[batch]), labels[batch]).backward()
            optimizer.step()
    save_file({name: tensor.numpy() for name, tensor in model.state_dict().items()}, folder / f"torch{rank}.safetensors")
    distributed.destroy_process_group()


def largest_difference(a, b):
    assert a.keys() == b.keys(), (a.keys(), b.keys())
    return max(float((a[name] - b[name]).abs().max()) for name in a)


def compare(ranks, tool, folder):
    mnist = ROOT / "data/mnist"
    subprocess.run([tool, "train", str(ranks), folder] + [mnist] * mnist.is_dir(), check=True, timeout=120)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    multiprocessing.spawn(train_rank, (ranks, folder), nprocs=ranks)
    ours, initial = load_tensors(folder / "ours.safetensors"), load_tensors(folder / "initial.safetensors")
    for rank in range(ranks):
        theirs = load_tensors(folder / f"torch{rank}.safetensors")
        difference, movement = largest_difference(ours, theirs), largest_difference(theirs, initial)
        print(f"torch {torch.__version__}, {'MNIST' if mnist.is_dir() else 'glyphs'}, rank {rank} of {ranks}: "
              f"largest difference {difference:.2g}, largest change in training {movement:.2g}")
        assert movement > MOVEMENT, movement
        assert difference < TOLERANCE, difference


def TwoReplicasEndWhereTorchsDo(tool, folder):
    compare(2, tool, folder)


def ThreeReplicasEndWhereTorchsDo(tool, folder):
    compare(3, tool, folder)


def SamplesAreThoseOfTorchsSampler(tool, folder):
    """With fedhive's permutation, from a single rank, torch deals the same samples to ranks."""
    subprocess.run([tool, "samples", folder], check=True, timeout=60)
    samples = load_file(folder / "samples.safetensors")
    for name, ours in samples.items():
        examples, ranks, epoch = map(int, name.split("/"))
        permutation = samples[f"{examples}/1/{epoch}"][0].astype("int64")
        assert sorted(permutation) == list(range(examples)), name
        torch.randperm = lambda *_, order=permutation, **__: torch.from_numpy(order)
        for rank in range(ranks):
            theirs = list(DistributedSampler(range(examples), num_replicas=ranks, rank=rank, shuffle=True, drop_last=False))
            assert theirs == ours[rank].tolist(), (name, rank)
    print(f"{len(samples)} combinations of examples, ranks and epoch are dealt alike")


CASES = [TwoReplicasEndWhereTorchsDo, ThreeReplicasEndWhereTorchsDo, SamplesAreThoseOfTorchsSampler]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        {case.__name__: case for case in CASES}[sys.argv[1]](sys.argv[2], Path(temporary))
