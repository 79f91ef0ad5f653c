"""Who is measured: fedhive, the ideal loop, and what else takes a workload. A side has a name, a note, and says whether it supports a workload;
`run` gives {"round_s", "whole_s"} and, where there are, "accuracy" and "phases"."""
import csv
import json
import statistics
import tempfile
from pathlib import Path

from bench import measure, workloads

PHASES = ("pull_down", "train", "barrier", "aggregate", "server_step")
IN_TRAINING = ("gather", "steps", "update", "wait")  # what a worker does meanwhile
TOGETHER = {"cpu": 32, "cuda": 64}  # clients in one batched step


class Program:
    """Takes WORKLOAD.json, prints its rounds: the ideal loop, and peers."""

    def __init__(self, name, command, environment=None, supports=lambda workload: True):
        self.name, self.note, self._command, self._environment, self.supports = name, "", command, environment, supports
        self.missing = False

    def run(self, workload, watch_memory=False):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "workload.json")
            file.write_text(json.dumps(workload))
            lines, whole_s, peak_mib = measure.run(self._command(file), self._environment, watch_memory)
        rounds, accuracy = measure.rounds_of(lines, workload["rounds"])
        return {"round_s": measure.steady(rounds), "whole_s": whole_s, "accuracy": accuracy, "peak_mib": peak_mib}


class Fedhive:
    def __init__(self, name, program, device="cpu", settings=None, together=1, supports=lambda workload: True, note="", missing=False):
        self.name, self.note, self.program, self.device, self.settings, self.supports = name, note, program, device, settings or {}, supports
        self.together = together  # clients in one step, at most those of a round
        self.missing = missing  # this program cannot do it: a row with its note, and no figures

    def settings_for(self, workload):
        if self.together == 1:
            return self.settings
        together = min(self.together, 1 << (workload["cohort"] - 1).bit_length())  # a power of two
        return {**self.settings, "clients_per_slot": together, "clients_at_once": together}

    def run(self, workload, watch_memory=False):
        with tempfile.TemporaryDirectory() as folder:
            config, out = Path(folder, "workload.yaml"), Path(folder, "run")
            config.write_text(workloads.to_yaml(workload, self.device, self.settings_for(workload)))
            workloads.write_data(workload, Path(folder))
            _, whole_s, peak_mib = measure.run([self.program, "run", config, "--out", out, "--quiet"], None, watch_memory)
            with open(out / "rounds.csv", newline="") as file:
                rows = [{key: float(value or "nan") for key, value in row.items()} for row in csv.DictReader(file)]
            with open(out / "clients.csv", newline="") as file:
                clients = list(csv.DictReader(file))
            workers = json.loads((out / "manifest.json").read_text())["workers"]
        accuracy = rows[-1]["test_accuracy"] if workload["evaluate_every"] else None
        return {"round_s": measure.steady(round_seconds(rows)), "whole_s": whole_s, "accuracy": accuracy, "peak_mib": peak_mib,
                "phases": {**phases(rows), **in_training(rows, clients, workers)}}


def round_seconds(rows):
    """Of each row of rounds.csv: until the next round begins, so with what it takes to report it, but without evaluation. The last one has no
    next: it ends with its phases."""
    ends = [row["started_s"] for row in rows[1:]] + [rows[-1]["started_s"] + rows[-1]["wall_s"]]
    return [end - row["started_s"] - row["evaluate_s"] for row, end in zip(rows, ends)]


def phases(rows):
    """Median seconds of each phase over the rounds but the first; `rest` is writing tables and checkpoints, `evaluate` is no part of a round here."""
    later = rows[1:] or rows
    found = {phase: statistics.median(row[f"{phase}_s"] for row in later) for phase in PHASES}
    evaluated = [row["evaluate_s"] for row in later if row["test_accuracy"] == row["test_accuracy"]]  # NaN where it was not
    found["evaluate"] = statistics.median(evaluated) if evaluated else 0.0
    whole = list(zip(rows, round_seconds(rows)))[1:-1]
    found["rest"] = statistics.median(seconds - (row["wall_s"] - row["evaluate_s"]) for row, seconds in whole) if whole else 0.0
    return found


def in_training(rows, clients, workers):
    """Median seconds of an average worker in the training of a round, again without the first: gathering batches, local steps, what its updates
    take, and waiting for clients or for the others. The first and the third are 0 on a device, where they are part of the second."""
    spent = {row["round"]: dict.fromkeys(IN_TRAINING, 0.0) for row in rows}
    for client in clients:
        seconds, gather, update = (float(client[key] or 0) / workers for key in ("seconds", "gather_s", "update_s"))
        of_round = spent[float(client["round"])]
        of_round["gather"] += gather
        of_round["update"] += update
        of_round["steps"] += seconds - gather - update
    for row in rows:
        of_round = spent[row["round"]]
        of_round["wait"] = row["train_s"] - sum(of_round.values())
    return {name: statistics.median(spent[row["round"]][name] for row in rows[1:] or rows) for name in IN_TRAINING}


def _has_key(fedhive, key):
    return f"| `{key}` |" in "\n".join(measure.run([fedhive, "reference"])[0])


def _fedhive_sides(fedhive, device):
    """fedhive as everybody runs it, and with what this program knows besides."""
    sides = [Fedhive("fedhive", fedhive, device)]
    if _has_key(fedhive, "engine"):
        sides.append(Fedhive("fedhive libtorch", fedhive, device, {"engine": "libtorch"}, note="training.engine: libtorch"))
    known, together = _has_key(fedhive, "clients_at_once"), TOGETHER[device]
    at_once = f"training.clients_at_once: {together}"
    # On the CPU vmap makes grouped convolutions of those of many clients, which are slower.
    sides.append(Fedhive("fedhive batched", fedhive, device, together=together,
                         supports=lambda workload: device == "cuda" or workload["model"] in ("lr", "mlp"),
                         note=at_once if known else "this program has no key training.clients_at_once", missing=not known))
    if device == "cuda" and _has_key(fedhive, "graph"):
        sides.append(Fedhive("fedhive graph", fedhive, device, {"graph": True}, note="training.graph: true"))
        sides.append(Fedhive("fedhive graph batched", fedhive, device, {"graph": True}, together, note=f"training.graph: true, {at_once}"))
    return sides


def make_sides(build, gpu, peers):
    """(sides, name of the one that ratios refer to)"""
    sides = _fedhive_sides(build / "fedhive", "cuda" if gpu else "cpu")
    if gpu:
        for form in ("eager", "graph"):
            sides.append(Program(f"ideal loop, {form}", lambda file, form=form: [build / "ideal_gpu", form, file]))
    else:
        for processes, name in ((1, "ideal loop, 1 process"), (2, "ideal loop, 2 processes")):
            sides.append(Program(name, lambda file, processes=processes: [build / "ideal_loop", processes, file]))
    sides += [Program(peer.name, peer.command, peer.environment(), lambda workload, peer=peer: not workload["network"] and peer.supports(workload)) for peer in peers]
    return sides, "ideal loop, eager" if gpu else "ideal loop, 2 processes"
