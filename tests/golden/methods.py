#!/usr/bin/env python3
"""What the method files of configs/methods compute, for small drawn inputs: methods.json.

usage: methods.py > methods.json

Each result is computed twice, in float64: by the file's functions as they are, on arrays (fedhive.uncompiled), and from the box's lines by the
evaluator of box_lines.py, which shares nothing with the tracer; many a third time, by the papers' formulas in tests/methods. All must agree, or
the program fails. A test in C++ can evaluate the same lines. Needs NumPy alone.

{FILE: {"box": {…}, "inputs": {"keys", "client", "server", "cohort", "examples"}, "expected": {"first", "gradient", "after", "second", "start", "end",
"judge", "cohort", "aggregates", "server", "peers", "mix", "loss", "measure", "answer"}}}. Vectors have 37 elements, the cohort 5 clients. aggregates: u, and what else comes up, by the box's weights; by
k.n if it has none. loss: of each of 19 examples, and its gradients to logits [19, 10] and z [19, 12], which every method with a loss has from
tests/methods/loss_papers.py. measure: sums over the examples of each class, or over all. answer: [19, 10]. Memories by class are [10, 12], [10, 10] or [10].
"""
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "scripts/lib"))
sys.path.insert(0, str(root / "tests/methods"))

from box_lines import FUNCTIONS, OF_EXAMPLES, B, C, Line, evaluate, of_updates  # noqa: E402
from fedhive.method import box_of  # noqa: E402
from fedhive.places import CLIENT_PLACES  # noqa: E402
from fedhive.uncompiled import Uncompiled  # noqa: E402
from further_papers import FURTHER_PAPERS  # noqa: E402
from loss_papers import LOSS_PAPERS, gradients  # noqa: E402
from papers import PAPERS  # noqa: E402

PAPERS = {**PAPERS, **FURTHER_PAPERS}

P, K, CLIENTS = 37, 5, 12
D = 12
SHAPES = {"features": (C, D), "logits": (C, C), "classes": (C,)}
AGREE = 1e-12
# Defaults under which a part of the formula vanishes, or does nothing for these inputs.
KEYS = {"fedadagrad": {"beta1": 0.5}, "fednova": {"rho": 0.375}, "qfedavg": {"q": 1.5}, "feddyn": {"alpha": 0.25}, "fedprox": {"mu": 0.25},
        "fedacg": {"beta": 0.125}, "fedema": {"lambda": 0.0625}, "norm_bounding": {"M": 6.5}, "adaptive_clip": {"first_clip": 7.0},
        "celgc": {"gamma": 0.25}, "fedinit": {"beta": 0.25}, "feddc": {"alpha": 0.25}, "fedadmm": {"rho": 0.25}, "fedpd": {"eta": 0.5},
        "fedexp": {"eps": 0.5}, "fedatt": {"eps": 0.75}, "mofedsam": {"beta": 0.25, "rho": 0.5}, "fedsam": {"rho": 0.5}, "fedspeed": {"alpha": 0.25},
        "pfedme": {"K": 4, "eta": 0.25, "beta": 0.5}, "per_fedavg": {"alpha": 0.25}, "fedrep": {"head": 0.25},
        "mimelite": {"beta": 0.25}, "rfa": {"nu": 4.5}, "feddane": {"mu": 0.25}, "fedgamma": {"rho": 0.5}, "fedlesam": {"rho": 0.5}, "fedcurv": {"lambda": 0.25},
        "focal": {"gamma": 1.5}, "fedlc": {"tau": 0.75}, "fedntd": {"beta": 0.75, "tau": 2.0}, "fedgkd": {"gamma": 0.75},
        "fedasam": {"rho": 0.5}, "fednag": {"gamma": 0.75}, "fedac": {"ratio": 4.0, "mu": 0.5}, "fedgate": {"gamma": 1.5}, "iiadmm": {"rho": 0.25}, "iceadmm": {"rho": 0.25},
        "fedsmoo": {"rho": 0.5, "alpha": 0.25},
        "adabest": {"mu": 0.25}, "fedprox_adaptive": {"mu": 0.375, "patience": 1}, "scaffold_m": {"beta": 0.25}, "local_amsgrad": {"eps": 0.25},
        "fedsplit": {"s": 0.5}, "feddr": {"eta": 0.5}, "meta_sgd": {"alpha": 0.25}, "l2gd": {"mix": 0.25}, "mr_mtl": {"lambda": 0.25},
        "fedrecon": {"head": 0.25}, "ef21_sgdm": {"eta": 0.25}, "rsa": {"lambda": 0.5}, "delta_fl": {"tail": 0.4}, "fedcostwavg": {"alpha": 0.25},
        "fedlesam_s": {"rho": 0.5}, "fedlesam_d": {"rho": 0.5, "alpha": 0.25}, "logit_adjustment": {"tau": 0.75}, "class_balanced": {"beta": 0.75},
        "propfair": {"M": 2.5, "eps": 0.5}, "fedamp": {"alpha": 8.0, "sigma": 64.0, "lambda": 2.0}, "pfedgraph": {"lambda": 0.25},
        "fedproto": {"pull": 0.75}, "fd": {"gamma": 0.75}, "fedproc": {"rounds": 20}, "dgc": {"kept": 0.2}, "fedmos": {"a": 0.25, "mu": 0.25}, "pfedsd": {"lambda": 0.75}, "sparsefed": {"L": 6.5, "kept": 0.2}, "fedala": {"share": 0.75, "eta": 0.5}, "cfl": {"eps_1": 7.0, "eps_2": 5.0}, "feddecorr": {"beta": 0.75},
        "fedphp": {"lambda": 0.25, "tau": 2.0, "rounds": 2}, "fedsoft": {"sigma": 0.5, "lambda": 0.25}, "fedhkd": {"lambda": 0.75, "gamma": 0.25, "zeta": 1.5, "nu": 0.0625},
        "foolsgold": {"kappa": 0.25}, "fedfv": {"alpha": 0.25}, "fedmgda_plus": {"eps": 0.125}, "dnc": {"turns": 2}}
OF_PRESENT_CLASSES = {"balanced_softmax", "fedir", "class_balanced", "fd"}  # a label that a client lacks has no loss
NOT_NEGATIVE = {"v", "v_max", "rate", "grown", "loss_before"}  # memories that stand under a root, or are rates


def grid(draws, *shape):
    """Draws multiples of 1/32 that float32 holds, none of them 0."""
    return draws.choice([-1, 1], shape) * draws.integers(1, 65, shape) / 32


class Inputs:
    """The numbers and vectors that one method's functions get."""

    def __init__(self, box):
        draws = np.random.default_rng([ord(letter) for letter in box["method"]])
        vectors = {m["name"]: m for m in box.get("memories", []) if m.get("shape") != "clients"}
        self.keys = {key["name"]: KEYS.get(box["method"], {}).get(key["name"], key["default"]) for key in box.get("keys", [])}
        self.by_class = {name: SHAPES[m["shape"]] for name, m in vectors.items() if m.get("shape") in SHAPES}
        self.numbers = {name for name, m in vectors.items() if m.get("shape") == "number"}
        memories = {name: self.of_classes(draws, name) if name in self.by_class else draws.integers(8, 64) / 64 if name in self.numbers else np.abs(grid(draws, P)) if name in NOT_NEGATIVE else grid(draws, P)
                    for name in vectors}
        self.client = {name: grid(draws, P) for name in ("g", "w", "w_t", "w_0")}
        in_steps = {line.split(" = ")[0] for line in [*box.get("gradient", []), *box.get("after", [])]}
        self.client["u"] = self.client["w"] - self.client["w_t"]
        self.client.update(lr=0.0625, round=7, step=3, steps=6, n=48, loss=0.75)
        self.client.update({name: memories[name] for name, m in vectors.items() if m["owner"] == "client" or m.get("down") or name in in_steps})
        more = np.random.default_rng([ord(letter) for letter in box["method"]] + [2])
        self.client.update(g_2=grid(more, P), local=more.integers(0, 2, P).astype(float))
        self.client.update({name: draws.integers(8, 64) / 32 for name in box.get("losses_at", {})})
        self.server = {"w": grid(draws, P), "server_lr": 0.5, "round": 7, "clients": CLIENTS, "received": K}
        self.server.update({name: memories[name] for name, m in vectors.items() if m["owner"] == "server"})
        self.cohort = {"n": draws.integers(20, 90, K), "steps": draws.integers(3, 12, K), "loss": draws.integers(8, 64, K) / 32,
                       "sent_loss": draws.integers(8, 64, K) / 32, "u": grid(draws, K, P)}
        if "mix" in box:
            self.server["w_t"] = self.client["w_t"]
            self.server.update({name: memories[name] for name, m in vectors.items() if m["owner"] == "client"})
            self.cohort.update(me=np.eye(K)[2], id=np.array([1, 4, 5, 6, 9]))
            if any("their_loss" in line for line in box["peers"]):
                self.cohort["their_loss"] = np.array([2.5, 0.75, 1.25, 1.5, 0.5])
        self.cohort["norm"] = np.linalg.norm(self.cohort["u"], axis=1)
        self.cohort.update({report["name"]: draws.integers(8, 64, K) / 32 for report in box.get("reports", [])})
        self.cohort.update({name: self.of_classes(draws, name, K) if name in self.by_class else grid(draws, K, P)
                            for name, m in vectors.items() if m.get("up")})
        self.cohort.update({m["name"]: draws.integers(8, 64, K) / 64 for m in box.get("memories", []) if m.get("shape") == "clients"})
        if any("root" in line for line in box.get("cohort", [])):
            root = self.server["root.u"] = grid(draws, P)
            self.server["root_norm"] = np.linalg.norm(root)
            self.cohort["dot_root"] = self.cohort["u"] @ root
            self.cohort["cos_root"] = self.cohort["dot_root"] / self.server["root_norm"] / self.cohort["norm"]
        if box["method"] == "ifca":  # each client has trained one of the models
            chosen = np.array([0, 2, 0, 0, 2])
            self.client["mine"] = 2.0
            for j in range(3):
                self.cohort[f"took_{j + 1}"] = (chosen == j) * 1.0
        if box["method"] == "cfl":  # two groups; the first is split
            self.client["group"], self.server["groups"] = 1.0, 2.0
            self.cohort["mine"] = np.array([0, 0, 1, 0, 0])
        if any("g_t" in line for place in ("gradient", "start", "end") for line in box.get(place, [])):
            self.client["g_t"] = grid(draws, P)
        self.examples = {"logits": grid(draws, B, C), "z": grid(draws, B, D), "y": draws.integers(0, C, B),
                         "counts": np.array([7, 0, 31, 2, 1, 0, 12, 50, 3, 9])} if {"loss", "measure", "answer"} & set(box) else {}
        at_client = [name for name, m in vectors.items() if m["owner"] == "client" or m.get("down")]
        self.examples.update({name: memories[name] for name in at_client if name in self.by_class or self.examples and name in self.numbers})
        if self.by_class:
            self.client["counts"] = np.array([7, 0, 31, 2, 1, 0, 12, 50, 3, 9])
        if box["method"] in OF_PRESENT_CLASSES:
            self.examples["y"] = np.where(self.examples["counts"][self.examples["y"]] > 0, self.examples["y"], 7)
        for name in box.get("also_at", {}):
            self.examples.update({f"{name}.logits": grid(draws, B, C), f"{name}.z": grid(draws, B, D)})
        self.up = ["u", *(name for name, m in vectors.items() if m.get("up"))]

    def of_classes(self, draws, name, *clients):
        """Draws a memory by class; a number for each class is at least 0, and 0 for some."""
        shape = (*clients, *self.by_class[name])
        return draws.integers(0, 2, shape) * np.arange(C).clip(0, 1) if len(self.by_class[name]) == 1 else grid(draws, *shape)

    def of_cohort(self):
        return {"k." + name: value for name, value in self.cohort.items()}

    def aggregates(self, weight):
        weight = np.asarray(weight)
        return {name: (weight.reshape(-1, *[1] * (self.cohort[name].ndim - 1)) * self.cohort[name]).sum(0) for name in self.up}


def evaluate_by_class(lines, names, x):
    """As evaluate; a number for each class is a column, which meets the rows of tables."""
    of_classes = {"counts", *(name for name, shape in x.by_class.items() if len(shape) == 1)}
    results = evaluate(lines, {name: value[:, None] if name in of_classes else value for name, value in names.items()})
    return {name: value[:, 0] if name in of_classes else value for name, value in results.items()}


def from_box(box, x):
    """Returns what the box's lines compute."""
    results = {"first": {}}
    for memory in box.get("memories", []):
        if memory["first"] not in (0, "w_t", "drawn"):
            results["first"][memory["name"]] = Line(str(memory["first"]), x.keys).value()
    for place in CLIENT_PLACES:
        if place in box:
            results[place] = evaluate_by_class(box[place], {**x.client, **x.keys}, x)
    numbers = {name: x.server[name] for name in ("round", "clients", "received", "root_norm", *x.numbers) if name in x.server}
    products = {**FUNCTIONS, **of_updates(x.cohort[box.get("products_of", "u")])}
    results["cohort"] = evaluate(box.get("cohort", []), {**x.of_cohort(), **numbers, **x.keys}, products)
    uniform = np.full(K, 1 / K) if "weighting" in box else x.cohort["n"] / x.cohort["n"].sum()
    results["aggregates"] = x.aggregates(results["cohort"].get("weight", uniform))
    further = [name for name in results["cohort"] if name.startswith("by_")]
    for weight in further:
        results["aggregates"].update({f"{weight}.{name}": value for name, value in x.aggregates(results["cohort"][weight] * np.ones(K)).items()})
    of_cohort = {name: value for name, value in results["cohort"].items() if name != "weight" and name not in further}
    if "server" in box:
        results["server"] = evaluate_by_class(box["server"], {**x.server, **results["aggregates"], **of_cohort, **x.keys}, x)
    if "mix" in box:
        results["peers"] = evaluate(box["peers"], {**x.of_cohort(), **numbers, **x.keys}, products)
        peers = {name: value for name, value in results["peers"].items() if name != "weight"}
        results["mix"] = evaluate(box["mix"], {**x.server, **x.aggregates(results["peers"]["weight"]), **peers, **x.keys})
    return results


def from_functions(path, box, x):
    """Returns what the file's functions compute; of the cohort only what @fh.weight and @fh.cohort say themselves."""
    file = Uncompiled(path, x.keys)
    results = {"first": {m["name"]: m["first"] for m in file.memories.values() if m["first"] not in (0, "w_t", "drawn")}}
    for place in CLIENT_PLACES:
        if place in file.functions:
            results[place] = file.run(place, x.client)
    at_server = {**x.server, **x.of_cohort()}
    results["cohort"] = {}
    for place in ("cohort", "weight"):
        if place in file.functions:
            results["cohort"].update(file.run(place, at_server))
    # The argument u is the run's: by @fh.weight, with equal weights where the box says so, else by examples.
    uniform = np.full(K, 1 / K) if "weighting" in box else x.cohort["n"] / x.cohort["n"].sum()
    if "server" in file.functions:
        results["server"] = file.run("server", {**at_server, **x.aggregates(results["cohort"].get("weight", uniform)), **results["cohort"]})
    if "mix" in file.functions:
        results["mix"] = file.run("mix", at_server)
    return results


def compare(method, one, other):
    """Ends the program where two results for the same target differ."""
    for place in one.keys() & other.keys():
        for target in one[place].keys() & other[place].keys():
            a, b = np.asarray(one[place][target], float), np.asarray(other[place][target], float)
            if a.shape != b.shape or not np.isfinite(a).all() or np.abs(a - b).max() > AGREE * max(np.abs(a).max(), np.abs(b).max()):
                sys.exit(f"{method}: {place}: {target}:\n{a}\n{b}")


def loss_of(path, box, x):
    """Returns an example's loss and its gradients, by the paper. Ends the program if the file's function, the box's lines and it do not agree."""
    if "loss" not in box:
        return {}
    columns = {name: value[:, None] if name == "y" else value for name, value in x.examples.items()}
    numbers = {"lr": 0.0625, "round": 7, "n": 48, "step": 3, "steps": 6}
    by_lines = evaluate(box["loss"], {**columns, **x.keys, **numbers}, OF_EXAMPLES)
    by_function = Uncompiled(path, x.keys).run("loss", {**x.examples, **numbers})
    others = {name: (x.examples[f"{name}.logits"], x.examples[f"{name}.z"]) for name in box.get("also_at", {})}
    of_paper = (x.examples[name] for name in ("logits", "z", "y", "counts"))
    others.update({name: x.examples[name] for name in (*x.by_class, *x.numbers) if name in x.examples})
    losses, slopes = gradients(LOSS_PAPERS[box["method"]], SimpleNamespace(**x.keys), *of_paper, others)
    compare(box["method"], {"loss": {"loss": by_lines["loss"][:, 0]}}, {"loss": {"loss": losses}})
    compare(box["method"], {"loss": by_function}, {"loss": {"loss": losses}})
    return {"loss": losses, **slopes}


def measure_of(path, box, x):
    """Returns what a measure sums by class. Ends the program if the file's function and the box's lines do not agree."""
    if "measure" not in box:
        return {}
    numbers = {"lr": 0.0625, "round": 7, "n": 48}
    by_lines = evaluate(box["measure"], {**{name: value[:, None] if name == "y" else value for name, value in x.examples.items()}, **x.keys, **numbers},
                        OF_EXAMPLES)
    by_function = Uncompiled(path, x.keys).run("measure", {**x.examples, **numbers})
    compare(box["method"], {"measure": {name: values[:, 0] if name in x.numbers else values for name, values in by_lines.items()}}, {"measure": by_function})
    return {name: values.sum() if name in x.numbers else np.array([values[x.examples["y"] == c].sum(0) for c in range(C)])
            for name, values in by_lines.items()}


def answer_of(path, box, x):
    """Returns a client's answers to the examples. Ends the program if the file's function and the box's lines do not agree."""
    if "answer" not in box:
        return {}
    numbers = {"lr": 0.0625, "round": 7, "n": 48}
    by_lines = evaluate(box["answer"], {**x.examples, **x.keys, **numbers}, OF_EXAMPLES)
    compare(box["method"], {"answer": by_lines}, {"answer": Uncompiled(path, x.keys).run("answer", {**x.examples, **numbers})})
    return by_lines["answer"]


def read_only(values, lines):
    """Returns those of {name: value} that lines mention."""
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(lines)))
    return {name: value for name, value in values.items() if name in words}


def plain(value):
    """Returns a value as JSON has it, rounded to what the last bit of a machine's exp and log leaves alone."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)) or np.ndim(value) > 0:
        return [plain(inner) for inner in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    return int(value) if float(value).is_integer() else float(f"{float(value):.12g}")


def case(path):
    """Returns one method's entry. Ends the program if its results do not agree."""
    box = box_of(path)
    x = Inputs(box)
    lines = {place: box.get(place, []) for place in (*CLIENT_PLACES, "cohort", "server", "peers", "mix")}
    expected = from_box(box, x)
    by_functions = from_functions(path, box, x)
    compare(box["method"], expected, by_functions)
    for place in by_functions.keys() - {"cohort"}:
        assert by_functions[place].keys() == expected[place].keys(), (box["method"], place)
    if box["method"] in PAPERS:
        spaces = (SimpleNamespace(**part) for part in (x.keys, x.client, x.server, x.cohort))
        paper = PAPERS[box["method"]](*spaces)
        assert all(paper[place].keys() <= expected[place].keys() for place in paper), (box["method"], paper.keys())
        compare(box["method"], paper, expected)
    loss = loss_of(path, box, x)
    client = [line for place in CLIENT_PLACES for line in lines[place]]
    cohort = {"n": x.cohort["n"], **read_only(x.cohort, lines["cohort"] + lines["peers"]), **{name: x.cohort[name] for name in x.up}}
    inputs = {"keys": x.keys, "client": read_only(x.client, client), "server": read_only(x.server, lines["server"] + lines["cohort"] + lines["peers"] + lines["mix"]),
              "cohort": cohort, **({"examples": x.examples} if x.examples else {})}
    measure, answer = measure_of(path, box, x), answer_of(path, box, x)
    expected.update({place: values for place, values in (("loss", loss), ("measure", measure), ("answer", answer)) if len(values)})
    return {"box": box, "inputs": plain(inputs), "expected": plain({place: values for place, values in expected.items() if len(values)})}


if __name__ == "__main__":
    np.seterr(divide="ignore", invalid="ignore")  # where a class is without examples
    files = sorted((root / "configs/methods").glob("*.py"))
    unknown = (set(PAPERS) | set(LOSS_PAPERS)) - {path.stem for path in files}
    assert not unknown, unknown
    entries = [f"{json.dumps(path.stem)}: {json.dumps(case(path), ensure_ascii=False)}" for path in files]
    print("{\n" + ",\n".join(entries) + "\n}")
