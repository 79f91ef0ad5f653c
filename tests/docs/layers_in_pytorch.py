"""Compares a step of fedhive on random lists of layers with PyTorch's: the same shapes and names of parameters, the same loss,
gradient and running statistics from the same parameters, and the same test loss afterwards. The same for named models in
docs/pytorch.md's form.

usage: layers_in_pytorch.py FEDHIVE     PyTorch as for tests/docs/pytorch_page.py
"""
import random
import re
import subprocess
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
from pytorch_page import COMPARED_BY_A_STEP, MODELS, ROOT, numpy, torch, write_idx  # noqa: E402  finds PyTorch, or skips

from safetensors.torch import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402

SIDE, CLASSES, EXAMPLES, RATE = 16, 5, 40, 0.05
LISTS = 12
CHARACTERS, WINDOW = "abcdef", 7
VOCABULARY = len(CHARACTERS) + 1  # plus the end of the line
IMAGE_KINDS = ["conv2d", "conv2d", "max_pool", "avg_pool", "dropout2d", "group_norm", "batch_norm", "relu", "tanh", "gelu", "layer_norm", "dropout", "residual", "residual", "shortcut"]
ROW_KINDS = ["linear", "batch_norm", "relu", "tanh", "gelu", "layer_norm", "dropout", "residual", "shortcut"]


class Residual(nn.Sequential):
    def __init__(self, *layers, shortcut=None):
        super().__init__(*layers)
        self.count = len(layers)
        if shortcut is not None:
            self.shortcut = shortcut

    def forward(self, x):
        y = x
        for i in range(self.count):
            y = self[i](y)
        return y + (self.shortcut(x) if hasattr(self, "shortcut") else x)


def one_layer(draw, kind, shape):
    """In YAML, in PyTorch, and the output shape; None if it does not fit."""
    if kind == "conv2d":
        groups = draw.choice([1, 1, 2])
        out, kernel, stride, padding = 2 * draw.randint(1, 4), draw.randint(1, 4), draw.randint(1, 2), draw.randint(0, 2)
        sides = [(side + 2 * padding - kernel) // stride + 1 for side in shape[1:]]
        if shape[0] % groups or min(side + 2 * padding - kernel for side in shape[1:]) < 0:
            return None
        bias = draw.random() < 0.7
        text = f"{{conv2d: {{out: {out}, kernel: {kernel}, stride: {stride}, padding: {padding}, groups: {groups}, bias: {str(bias).lower()}}}}}"
        return text, nn.Conv2d(shape[0], out, kernel, stride, padding, groups=groups, bias=bias), [out, *sides]
    if kind in ("max_pool", "avg_pool"):
        size = draw.randint(1, 3)
        if min(shape[1:]) < size:
            return None
        if kind == "avg_pool" and draw.random() < 0.2:
            return kind, nn.AdaptiveAvgPool2d(1), [shape[0], 1, 1]
        pool = nn.MaxPool2d if kind == "max_pool" else nn.AvgPool2d
        if draw.random() < 0.5:
            return f"{{{kind}: {size}}}", pool(size), [shape[0], shape[1] // size, shape[2] // size]
        stride, padding = draw.randint(1, 3), draw.randint(0, size // 2)
        text = f"{{{kind}: {{size: {size}, stride: {stride}, padding: {padding}}}}}"
        return text, pool(size, stride, padding), [shape[0], *((side + 2 * padding - size) // stride + 1 for side in shape[1:])]
    if kind == "group_norm":
        groups = draw.choice([1, 2])
        if shape[0] % groups or shape[0] // groups * shape[1] * shape[2] < 2:
            return None
        return f"{{group_norm: {groups}}}", nn.GroupNorm(groups, shape[0]), shape
    if kind == "batch_norm":
        return kind, (nn.BatchNorm1d if len(shape) == 1 else nn.BatchNorm2d)(shape[0]), shape
    if kind == "linear":
        out = draw.randint(2, 12)
        return f"{{linear: {out}}}", nn.Linear(shape[0], out), [out]
    if kind == "residual":
        texts, modules, after = some_layers(draw, shape, draw.randint(1, 3), ROW_KINDS if len(shape) == 1 else IMAGE_KINDS)
        return (f"{{residual: [{', '.join(texts)}]}}", Residual(*modules), shape) if after == shape else None
    if kind == "shortcut":  # a residual whose input is brought to its layers' output shape
        texts, modules, after = some_layers(draw, shape, draw.randint(1, 3), ROW_KINDS if len(shape) == 1 else IMAGE_KINDS)
        if len(shape) == 1:
            beside, module = f"{{linear: {after[0]}}}", nn.Linear(shape[0], after[0])
        else:
            kernels = [had - has + 1 for had, has in zip(shape[1:], after[1:])]
            if kernels[0] != kernels[1] or kernels[0] < 1:
                return None
            beside, module = f"{{conv2d: {{out: {after[0]}, kernel: {kernels[0]}}}}}", nn.Conv2d(shape[0], after[0], kernels[0])
        text = f"{{residual: [{', '.join(texts)}], shortcut: [{beside}, tanh]}}"
        return text, Residual(*modules, shortcut=nn.Sequential(module, nn.Tanh())), after
    modules = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU, "dropout": lambda: nn.Dropout(0.0), "dropout2d": lambda: nn.Dropout2d(0.0),
               "layer_norm": lambda: nn.LayerNorm(shape)}
    return f"{{{kind}: 0}}" if kind.startswith("dropout") else kind, modules[kind](), shape


def some_layers(draw, shape, count, kinds):
    texts, modules = [], []
    while len(texts) < count:
        layer = one_layer(draw, draw.choice(kinds), shape)
        if layer is None:
            continue
        texts.append(layer[0])
        modules.append(layer[1])
        shape = layer[2]
    return texts, modules, shape


def network(draw):
    texts, modules, shape = some_layers(draw, [1, SIDE, SIDE], draw.randint(3, 7), IMAGE_KINDS)
    width = shape[0] * shape[1] * shape[2]
    more_texts, more_modules, last = some_layers(draw, [width], draw.randint(0, 4), ROW_KINDS)
    texts += ["flatten", *more_texts, "linear"]
    return "[" + ", ".join(texts) + "]", nn.Sequential(*modules, nn.Flatten(), *more_modules, nn.Linear(last[0], CLASSES))


class LastState(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0][:, -1]


class EveryState(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0]


class EveryGruState(nn.GRU):
    def forward(self, x):
        return super().forward(x)[0]


class LastOfBothWays(nn.GRU):
    def forward(self, x):
        return super().forward(x)[1][-2:].transpose(0, 1).flatten(1)


class Position(nn.Embedding):
    def forward(self, x):
        return x + self.weight


class Attention(nn.MultiheadAttention):
    def __init__(self, dim, heads, causal=False):
        super().__init__(dim, heads, batch_first=True)
        self.causal = causal

    def forward(self, x):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        return super().forward(x, x, x, attn_mask=later)[0]


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


class Last(nn.Module):
    def forward(self, x):
        return x[:, -1]


class Data(NamedTuple):
    """The keys of a config's data, and inputs and labels in PyTorch's form."""
    keys: str
    train: tuple
    test: tuple


def images(folder, side=SIDE):
    folder.mkdir(exist_ok=True)
    draw = numpy.random.default_rng(1)
    parts = []
    for part in ("train", "t10k"):
        pixels, labels = draw.integers(0, 256, (EXAMPLES, side, side)), numpy.arange(EXAMPLES) % CLASSES
        write_idx(folder / f"{part}-images-idx3-ubyte", pixels)
        write_idx(folder / f"{part}-labels-idx1-ubyte", labels)
        parts.append((torch.from_numpy(pixels.astype("float32") / 255).reshape(-1, 1, side, side), torch.from_numpy(labels)))
    return Data(f"format: idx, root: {folder}", *parts)


def text(folder):
    """Every window of one speaker's text; the four fifths for training show all characters."""
    draw = random.Random(2)
    spoken = "".join("".join(draw.choice(CHARACTERS) for _ in range(49)) + "\n" for _ in range(2))
    (folder / "play.txt").write_text(f"SPEAKER:\n{spoken}")
    tokens = torch.tensor([sorted(set(spoken)).index(character) for character in spoken])

    def windows(part):
        return part.unfold(0, WINDOW, 1)[:-1], part[WINDOW:]

    return Data(f"format: text, train: {folder / 'play.txt'}, sequence: {WINDOW}", windows(tokens[:80]), windows(tokens[80:]))


def named(model, norm="group", side=SIDE, channels=1, classes=CLASSES):
    """The page's definition with default keys but without dropout. Its random numbers do not depend on earlier models."""
    torch.manual_seed(1)
    text = re.search(rf"^def {model}\(\):\n(?: .*\n)+", (ROOT / "docs/pytorch.md").read_text(), re.M).group()
    names = {"torch": torch, "nn": nn, "OrderedDict": OrderedDict, "channels": channels, "height": side, "width": side, "values": channels * side * side,
             "classes": classes, "about": {"model.hidden": "200"}}
    if model.startswith("char_"):
        keys = {"dim": "8", "units": "256", "lstm_layers": "2"} if model == "char_lstm" else {"width": "64", "heads": "4", "blocks": "2"}
        names |= {"classes": VOCABULARY, "height": 1, "width": 1, "channels": WINDOW,
                  "about": {"vocabulary": VOCABULARY, **{f"model.{key}": value for key, value in keys.items()}}}
    if model.startswith("resnet"):
        text = re.search(r"^def resnet\(.*\n(?: .*\n|\n(?= ))+", (ROOT / "docs/pytorch.md").read_text(), re.M).group() + text
        names |= {"about": {"model.norm": norm, "model.groups": "2"}}
    exec(compile(text, "docs/pytorch.md", "exec"), names)
    module = names[model]()
    for part in module.modules():
        if isinstance(part, (nn.Dropout, nn.Dropout2d)):
            part.p = 0.0
    return module


def compare(fedhive, folder, number, layers, module, data):
    """One client with all examples in one batch takes one step."""
    first, run = folder / f"{number}.safetensors", folder / str(number)
    with torch.no_grad():
        for parameter in module.parameters():  # so that norms have an effect, too
            parameter.add_(0.1 * torch.randn(parameter.shape))
    save_file(module.state_dict(), first)
    (folder / "config.yaml").write_text(
        f"rounds: 1\nworkers: 0\ndevice: cpu\ndata: {{{data.keys}, partition: {{clients: 1}}}}\n"
        f"model: {{{layers}, init: {first}}}\ntraining: {{batch_size: {len(data.train[1])}, optimizer: {{lr: {RATE}}}}}\n")
    ran = subprocess.run([fedhive, "run", folder / "config.yaml", "--out", run, "--quiet"], capture_output=True, text=True)
    assert ran.returncode == 0, (layers, ran.stderr)

    inputs, labels = data.train
    loss = nn.functional.cross_entropy(module(inputs), labels)
    loss.backward()
    after, before = load_file(run / "model.safetensors"), load_file(first)
    counters = {name for name in before if name.endswith("num_batches_tracked")}  # only in PyTorch
    assert set(after) == set(before) - counters, (layers, list(after), list(before))
    for name, statistics in module.named_buffers():
        if name not in counters:
            assert torch.allclose(after[name], statistics, rtol=1e-4, atol=1e-5), (layers, name, after[name], statistics)
    largest, difference = 0.0, 0.0
    for name, parameter in module.named_parameters():
        ours = (before[name] - after[name]) / RATE
        largest = max(largest, parameter.grad.abs().max().item())
        difference = max(difference, (ours - parameter.grad).abs().max().item())
    # After dozens of ReLUs some value is so near 0 that either side of it is right.
    part = 1e-2 if "resnet" in layers else 1e-3
    assert largest > 1e-4 and difference < part * largest + 1e-5, (layers, largest, difference)
    module.load_state_dict(after)
    module.eval()
    with torch.no_grad():
        test_loss = nn.functional.cross_entropy(module(data.test[0]), data.test[1]).item()
    header, row = [line.split(",") for line in (run / "rounds.csv").read_text().splitlines()[:2]]
    losses = {name: float(value) for name, value in zip(header, row) if name in ("train_loss", "test_loss")}
    assert abs(losses["train_loss"] - loss.item()) < 1e-4 * loss.item(), (layers, losses, loss.item())
    assert abs(losses["test_loss"] - test_loss) < 1e-4 * test_loss, (layers, losses, test_loss)
    count = sum(parameter.numel() for parameter in module.parameters())
    print(f"{layers}: {count} parameters, loss {loss.item():.5f}, largest gradient {largest:.2g}, off by {difference:.1g}")


def main(fedhive):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pixels, characters = images(folder), text(folder)
        compare(fedhive, folder, "norms", "layers: [{conv2d: {out: 4, kernel: 3}}, batch_norm, relu, flatten, {linear: 6}, batch_norm, tanh, linear]",
                nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * (SIDE - 2) ** 2, 6),
                              nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, CLASSES)), pixels)
        compare(fedhive, folder, "sequences", "layers: [{embedding: {dim: 3, tokens: 9}}, {lstm: {hidden: 5, layers: 2, all_positions: true}}, "
                "{residual: [tanh, {lstm: {hidden: 5, all_positions: true}}]}, {lstm: 4}, linear]",
                nn.Sequential(nn.Embedding(9, 3), EveryState(3, 5, 2, batch_first=True), Residual(nn.Tanh(), EveryState(5, 5, batch_first=True)),
                              LastState(5, 4, batch_first=True), nn.Linear(4, VOCABULARY)), characters)
        compare(fedhive, folder, "gated", "layers: [{embedding: 3}, {gru: {hidden: 5, layers: 2, all_positions: true}}, "
                "{lstm: {hidden: 4, layers: 2, all_positions: true, bidirectional: true}}, {gru: {hidden: 3, layers: 2, bidirectional: true}}, linear]",
                nn.Sequential(nn.Embedding(VOCABULARY, 3), EveryGruState(3, 5, 2, batch_first=True), EveryState(5, 4, 2, batch_first=True, bidirectional=True),
                              LastOfBothWays(8, 3, 2, batch_first=True, bidirectional=True), nn.Linear(6, VOCABULARY)), characters)
        compare(fedhive, folder, "flat", "layers: [{embedding: 3}, layer_norm, gelu, flatten, linear]",
                nn.Sequential(nn.Embedding(VOCABULARY, 3), nn.LayerNorm([WINDOW, 3]), nn.GELU(), nn.Flatten(), nn.Linear(3 * WINDOW, VOCABULARY)), characters)
        seen = ""
        for number in range(LISTS):
            layers, module = network(draw)
            compare(fedhive, folder, number, f"layers: {layers}", module, pixels)
            seen += layers
        missing = {kind for kind in IMAGE_KINDS + ROW_KINDS if kind not in seen}
        assert not missing, f"no list has {missing}; draw more"
        compare(fedhive, folder, "attentions", "layers: [{embedding: 6}, position, {residual: [{layer_norm: true}, {attention: {heads: 2, causal: true}}]}, "
                "{attention: 3}, gelu, last_position, linear]",
                nn.Sequential(nn.Embedding(VOCABULARY, 6), Position(WINDOW, 6), Residual(nn.LayerNorm(6), Attention(6, 2, causal=True)), Attention(6, 3),
                              nn.GELU(), Last(), nn.Linear(6, VOCABULARY)), characters)
        compare(fedhive, folder, "mean", "layers: [{embedding: 6}, {attention: 2}, mean, linear]",
                nn.Sequential(nn.Embedding(VOCABULARY, 6), Attention(6, 2), Mean(), nn.Linear(6, VOCABULARY)), characters)
        for model in COMPARED_BY_A_STEP:
            compare(fedhive, folder, model, f"name: {model}", named(model), characters if model.startswith("char_") else pixels)
        compare(fedhive, folder, "resnet20-batch", "name: resnet20, norm: batch", named("resnet20", "batch"), pixels)
        digits = images(folder / "digits", 28)
        for model in MODELS:
            key = ", dropout: false" if model in ("mnist_cnn", "cnn_m") else ""
            compare(fedhive, folder, model, f"name: {model}{key}", named(model, side=28), digits)


if __name__ == "__main__":
    main(sys.argv[1])
