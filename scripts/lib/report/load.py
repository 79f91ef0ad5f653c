"""What a report is about: runs and sweeps, read from their folders, with short names and the keys in which they differ."""
import re
from dataclasses import dataclass
from pathlib import Path

from report.run import is_run, lock_holder, read_json, read_run, waiting_run

# Keys that cannot make two results differ, or that only name things.
NOT_A_DIFFERENCE = ("seed", "name", "data.root", "checkpoint.", "device")


class LoadError(Exception):
    """What the caller can mend: a folder that holds no run and no sweep."""


@dataclass
class Report:
    title: str
    runs: list           # of Run, in the order of the arguments; those of a sweep in its own order
    sweep: dict | None   # sweep.json where the report is about one sweep and nothing else
    axes: list           # the varied keys, those of Run.settings


def value_text(value):
    """A value as it stands in a config: true, 0.1, [1, 2]."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, list):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def flat(config, prefix=""):
    """{"training.optimizer.lr": "0.1", …}: leaves of a nested config by their dotted keys."""
    leaves = {}
    for key, value in config.items():
        if isinstance(value, dict):
            leaves.update(flat(value, f"{prefix}{key}."))
        else:
            leaves[prefix + str(key)] = value_text(value)
    return leaves


def short_keys(keys):
    """{key: its shortest end that names no other of them}, at least one word: training.optimizer.lr is lr."""
    names = {}
    for key in keys:
        words = key.split(".")
        for count in range(1, len(words) + 1):
            names[key] = ".".join(words[-count:])
            if not any(other != key and ("." + other).endswith("." + names[key]) for other in keys):
                break
    return names


def differences(runs):
    """The keys in which the runs differ, in the order of the configs. Workers and threads count: they change times."""
    configs = [flat(run.config) for run in runs if run.config]
    keys = list(dict.fromkeys(key for config in configs for key in config))
    return [key for key in keys if not key.startswith(NOT_A_DIFFERENCE) and len({config.get(key, "") for config in configs}) > 1]


def without_seed(sweep_id):
    return re.sub(r"(^|,)seed=[^,]*", "", sweep_id).lstrip(",")


def sweep_runs(folder):
    """(sweep.json, its runs in its order); those that have not begun are there too."""
    problems = []
    sweep, whole = read_json(folder / "sweep.json", problems)
    entries = sweep.get("runs")
    if not whole or not isinstance(entries, list) or not all(isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in entries):
        raise LoadError(f"{folder}/sweep.json is no sweep: {'; '.join(problems) or 'it has no list of runs'}")
    runs = []
    for entry in entries:
        path = folder / "runs" / entry["id"]
        run = read_run(path, entry["id"]) if is_run(path) else waiting_run(path, entry["id"], folder / "configs" / f"{entry['id']}.yaml")
        run.group = without_seed(entry["id"]) or str(sweep.get("name", folder.name))
        run.settings = {key: str(value) for key, value in entry.get("settings", {}).items()}
        run.seed = entry.get("seed", run.seed)
        run.planned_rounds = entry.get("rounds") or run.planned_rounds
        judge_by_sweep(run, entry, folder)
        runs.append(run)
    return sweep, runs


def judge_by_sweep(run, entry, folder):
    """What only the sweep knows: that it gave a run up, or that its process never came so far as to write a manifest."""
    said = entry.get("status")
    if said in ("stopped", "failed"):
        run.status, run.reason = said, entry.get("reason") or run.reason
    elif said == "running" and run.status == "waiting":
        run.status = "killed" if lock_holder(folder) == 0 else "running"
    elif said == "finished" and run.status == "waiting":
        run.status, run.reason = "damaged", "sweep.json says finished, but the run's folder is not there"


def what_is_there(folder):
    """For somebody who named the wrong folder: a hint at what to name instead."""
    if not folder.is_dir():
        return "there is no such folder"
    inside = sorted(child for child in folder.iterdir() if child.is_dir() and (is_run(child) or (child / "sweep.json").is_file()))
    if inside:
        return f"it holds {len(inside)} run{'s' if len(inside) > 1 else ''} or sweeps, such as {inside[0].name}: name them, as in {folder}/*"
    return "it is empty" if not any(folder.iterdir()) else "none of these files is in it"


def unique_labels(runs):
    """A label that two runs share gets as many of the folders above as it takes, and a number where that is not enough."""
    for depth in range(1, 4):
        labels = [run.label for run in runs]
        for run in runs:
            parents = [name for name in run.path.parts[:-depth][-1:] if name not in ("/", "runs")]
            if labels.count(run.label) > 1 and parents:
                run.label = f"{parents[0]}/{run.label}"
    seen = {}
    for run in runs:
        seen[run.label] = seen.get(run.label, 0) + 1
        if seen[run.label] > 1:
            run.label += f" ({seen[run.label]})"


def compare(runs, axes):
    """Settings and groups of runs that are not those of one sweep."""
    names, groups = short_keys(axes), {}
    for run in runs:
        config = flat(run.config)
        run.settings = {key: config.get(key, run.settings.get(key, "")) for key in axes}
        groups.setdefault(tuple(run.settings.values()), []).append(run)
    taken = set()
    for members in groups.values():
        label = group_label(members, names)
        label = label if label not in taken else f"{label} ({members[0].label})"
        taken.add(label)
        for run in members:
            run.group = label


def group_label(members, names):
    """By what is different, where that is short; else by the sweep's id, the only member's label, or the name in the config."""
    first = members[0]
    by_settings = ",".join(f"{names[key]}={value}" for key, value in first.settings.items() if value != "")
    if by_settings and len(by_settings) <= 48:
        return by_settings
    if first.group:
        return first.group
    return first.label if len(members) == 1 and names else str(first.config.get("name") or first.manifest.get("name") or first.label)


def load(paths):
    """The report on these folders, each that of a run or of a sweep. LoadError where one is neither."""
    runs, sweeps = [], []
    for path in dict.fromkeys(Path(path).absolute() for path in paths):
        if (path / "sweep.json").is_file():
            sweep, found = sweep_runs(path)
            sweeps.append(sweep)
            runs += found
        elif is_run(path):
            runs.append(read_run(path, path.name))
        else:
            raise LoadError(f"{path} is neither a run (config.yaml, manifest.json, rounds.csv) nor a sweep (sweep.json): "
                            f"{what_is_there(path)}.")
    if not runs:
        raise LoadError(f"The sweep in {paths[0]} has no runs.")
    unique_labels(runs)
    if len(sweeps) == 1 and len(paths) == 1:
        axes = list(sweeps[0].get("keys") or dict.fromkeys(key for run in runs for key in run.settings))
        return Report(str(sweeps[0].get("name", Path(paths[0]).name)), runs, sweeps[0], axes)
    axes = differences(runs)
    if sweeps:  # a sweep's scheduler gives out workers as there is room; that is no difference
        axes = [key for key in axes if key not in ("workers", "threads")]
    compare(runs, axes)
    names = list(dict.fromkeys(str(run.config.get("name") or run.label) for run in runs))
    title = names[0] if len(names) == 1 else ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Report(title, runs, None, axes)
