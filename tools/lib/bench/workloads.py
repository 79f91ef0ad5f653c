"""What is measured: the workloads that all sides get as one JSON file, and the same workload as a config of fedhive.

To add one: a line in TRAINING, or its name in PARTS; nothing else knows them by name.
"""
import array
import json
import random
import struct
import zipfile

PROCESSES = 2  # of every side, where the user of this program would choose
NEVER = 10**6  # rounds


def _workload(name, **changes):
    """The contract of the JSON file: docs/speed.md describes each key."""
    base = {"id": name, "model": "mnist_cnn", "shape": [1, 28, 28], "classes": 10, "clients": 100, "examples": [600] * 100, "cohort": 10, "rounds": 10,
            "batch_size": 32, "local_epochs": 1, "lr": 0.05, "momentum": 0.0, "dropout": False, "processes": PROCESSES, "data": "random",
            "evaluate_every": 0, "num_test": 0, "vocabulary": 0, "network": None}
    return {**base, **changes}


def _unequal(clients):
    """10 to 50 examples a client."""
    chance = random.Random(3)
    return [chance.randint(10, 50) for _ in range(clients)]


def _transformer(factors=None):
    """char_transformer with 128 features as a list of layers; with factors, all else is frozen."""
    more, norm = factors or {}, {"layer_norm": True}
    block = [{"residual": [norm, {"attention": {"heads": 4, "causal": True, **more}}]},
             {"residual": [norm, {"linear": {"out": 512, **more}}, "gelu", {"linear": {"out": 128, **more}}]}]
    frozen = {"frozen": ["*.weight", "*.bias", "*_weight", "*_bias"]} if more else {}
    return {"layers": [{"embedding": 128}, "position", *block, *block, norm, "last_position", "linear"], **frozen}


def training(root, gpu=False):
    """The workloads with clients that train; `root` is the checkout, for the data in it."""
    images = {"shape": [3, 32, 32], "clients": 20, "examples": [40] * 20, "cohort": 4, "rounds": 6, "batch_size": 20}
    texts = {"classes": 80, "vocabulary": 80, "clients": 20, "examples": [40] * 20, "cohort": 8, "rounds": 8, "batch_size": 10}
    tiny = {"clients": 1000, "examples": _unequal(1000), "cohort": 100, "batch_size": 10}
    return [
        _workload("w1", clients=4, examples=[15000] * 4, cohort=4, rounds=3, batch_size=64, lr=0.01, momentum=0.5, dropout=True, data="mnist",
                  root=str(root / "data/mnist"), evaluate_every=1, num_test=10000),
        _workload("w2-mnist_cnn"),
        _workload("w2-cnn_m", model="cnn_m"),
        _workload("w3-lr", model="lr", rounds=50, **tiny),
        _workload("w3-mlp", model="mlp", rounds=30, **tiny),
        _workload("w3-step", model="lr", clients=1000, examples=[20] * 1000, cohort=1000, batch_size=20, rounds=20),
        _workload("w4", model="cnn_m", shape=[3, 32, 32], clients=1000, examples=[50] * 1000, cohort=50, rounds=1500 if gpu else 20, batch_size=10,
                  lr=0.1, dropout=True, evaluate_every=10, num_test=10000),
    ] + ([] if gpu else [
        _workload("w7-resnet20", model="resnet20 batch", network={"name": "resnet20", "norm": "batch"}, **images),
        _workload("w7-resnet18-group", model="resnet18 group", network={"name": "resnet18", "norm": "group"}, **images),
        _workload("w7-resnet18-batch", model="resnet18 batch", network={"name": "resnet18", "norm": "batch"}, **images),
        _workload("w7-lstm", model="char_lstm", shape=[80, 1, 1], network={"name": "char_lstm"}, **texts),
        _workload("w7-transformer", model="char_transformer", shape=[64, 1, 1], network=_transformer(), **texts),
        _workload("w7-lora", model="char_transformer lora", shape=[64, 1, 1], network=_transformer({"lora": 8}), **texts),
    ])


PARTS = {"w5": "aggregation alone", "w6": "the barrier alone"}
NAMES = ["w1", "w2", "w3", "w4", "w5", "w6", "w7"]


def quick(workload):
    """The same, in seconds: to try the bench, never to be cited."""
    examples = [min(size, 40) for size in workload["examples"][:8]]
    return {**workload, "clients": len(examples), "examples": examples, "cohort": min(workload["cohort"], 4), "rounds": 3, "data": "random",
            "num_test": min(workload["num_test"], 50)}


def aggregations(gpu=False, quickly=False):
    """(rule, P, K) of w5: the rules there are."""
    sizes = [21840, 1_200_000, 10_000_000] + ([100_000_000] if gpu else [])
    if quickly:
        sizes = sizes[:1]
    return [(rule, size, clients) for rule in ("mean", "median", "trimmed_mean") for size in sizes for clients in (10, 32)]


def barriers(quickly=False):
    """(workers, rounds) of w6."""
    return [(workers, 200 if quickly else 20000) for workers in (1, 2, 4, 8, 16)]


def parameters(workload):
    """Floats of its model; None of one that is not a function of a few sizes."""
    if workload["network"]:
        return None
    channels, height, width = workload["shape"]
    values, classes = channels * height * width, workload["classes"]
    if workload["model"] == "lr":
        return classes * (values + 1)
    if workload["model"] == "mlp":
        return 200 * (values + 1) + 200 * 201 + classes * 201
    if workload["model"] == "mnist_cnn":
        return 260 + 5020 + 16050 + 51 * classes
    pooled = 64 * ((height - 4) // 2) * ((width - 4) // 2)
    return 32 * (9 * channels + 1) + 64 * 289 + 128 * (pooled + 1) + 129 * classes


def _data(workload):
    sizes = workload["examples"]
    if workload["data"] == "mnist":
        return {"format": "idx", "root": workload["root"], "normalize": {"mean": [0.1307], "std": [0.3081]},
                "partition": {"scheme": "contiguous", "clients": workload["clients"]}}
    partition = {"scheme": "iid", "clients": workload["clients"]}
    if workload["vocabulary"]:
        return {"format": "npz", "train": "tokens.npz", "test": "tokens.npz", "values": "tokens", "vocabulary": workload["vocabulary"], "partition": partition}
    if len(set(sizes)) > 1:
        partition["sizes"] = [size / sum(sizes) for size in sizes]
    return {"format": "synthetic", "shape": workload["shape"], "num_classes": workload["classes"], "num_train": sum(sizes),
            "num_test": max(1, workload["num_test"]), "partition": partition}


def _npy(kind, shape, values):
    """An array in NumPy's format, whose package is not needed."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes()


def write_data(workload, folder):
    """Random tokens and labels, every token and class among them, where a config of to_yaml() in this folder finds them."""
    if not workload["vocabulary"]:
        return
    draw, count, length = random.Random(1), sum(workload["examples"]), workload["shape"][0]
    tokens = array.array("i", (draw.randrange(workload["vocabulary"]) for _ in range(count * length)))
    labels = array.array("i", (i % workload["classes"] for i in range(count)))
    with zipfile.ZipFile(folder / "tokens.npz", "w") as file:
        file.writestr("x.npy", _npy("<i4", [count, length], tokens))
        file.writestr("y.npy", _npy("<i4", [count], labels))


def to_yaml(workload, device="cpu", settings=None):
    """A config of fedhive with the same workload; settings: more keys of `training`, such as clients_at_once. JSON is YAML."""
    model = workload["network"] or {"name": workload["model"]}
    if workload["model"] in ("mnist_cnn", "cnn_m"):
        model["dropout"] = workload["dropout"]
    config = {
        "name": workload["id"], "rounds": workload["rounds"], "device": device, "data": _data(workload), "model": model,
        "training": {"cohort": workload["cohort"], "local_epochs": workload["local_epochs"], "batch_size": workload["batch_size"],
                     "optimizer": {"name": "sgd", "lr": workload["lr"], "momentum": workload["momentum"]}, **(settings or {})},
        "evaluation": {"every": workload["evaluate_every"] or NEVER},
    }
    if device == "cpu":
        config["workers"] = workload["processes"]
    return json.dumps(config)
