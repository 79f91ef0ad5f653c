"""What a report is about: runs and sweeps, read from their folders, with short names and the keys in which they differ."""
import os
from dataclasses import dataclass, field
from pathlib import Path

from fedhive.lock import lock_holder
from report import labels
from report.run import is_run, read_json, read_run, waiting_run

# Keys that cannot make two results differ, or that only name things; `devices.trace` is none of them.
NOT_A_DIFFERENCE = ("name", "data.root", "checkpoint.every", "checkpoint.keep", "device")


class LoadError(Exception):
    """What the caller can mend: a folder that holds no run and no sweep."""


@dataclass
class Report:
    title: str
    runs: list           # of Run, in the order of the arguments; those of a sweep in its own order
    sweep: dict | None   # sweep.json where the report is about one sweep and nothing else
    axes: list           # the varied keys, those of Run.settings
    packed: bool = False  # runs ran side by side, so that their wall times do not compare them
    labels: dict = field(default_factory=dict)  # key or value -> display name, which may hold formulas
    panels: tuple | None = None                 # (key of the panels, keys of the lines) of the figure that was asked for

    def shown(self, text, otherwise=None):
        """For captions and titles: the display name of a key or a value, `otherwise` where it has none."""
        return labels.in_unicode(self.labels[text]) if text in self.labels else text if otherwise is None else otherwise

    def drawn(self, text, otherwise=None):
        """The same for a figure's texts, where Matplotlib reads formulas."""
        return labels.drawn(self.labels[text]) if text in self.labels else labels.escaped(text if otherwise is None else otherwise)

    def axis_of(self, name):
        """The axis of that full or short name; None where there is none."""
        return next((key for key, short in short_keys(self.axes).items() if name in (key, short)), None)

    def axes_in_words(self):
        return ", ".join(short_keys(self.axes).values()) or "here there is none"

    def names(self, shown=None):
        """{key: display name} of the axes; by default the drawn ones."""
        return {key: (shown or self.drawn)(key, name) for key, name in short_keys(self.axes).items()}


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
    """{key: its shortest end that names no other of them}, at least one word: training.optimizer.lr is lr, strategy.name is strategy."""
    paths = {key: key.removesuffix(".name") for key in keys}
    names = {}
    for key, path in paths.items():
        words = path.split(".")
        for count in range(1, len(words) + 1):
            names[key] = ".".join(words[-count:])
            if not any(other != key and ("." + paths[other]).endswith("." + names[key]) for other in keys):
                break
        else:
            names[key] = key if list(paths.values()).count(path) > 1 else names[key]
    return names


def is_seed(key):
    """Runs that differ in such keys only are repetitions of one another."""
    return key == "seed" or key.startswith("seeds.")


def differences(runs):
    """The keys in which the runs differ, in the order of the configs. Workers and threads count: they change times."""
    configs = [flat(run.config) for run in runs if run.config]
    keys = list(dict.fromkeys(key for config in configs for key in config))
    return [key for key in keys if key not in NOT_A_DIFFERENCE and not is_seed(key)
            and len({config.get(key, "") for config in configs}) > 1]


def is_plain_name(name):
    """Whether it is the name of one file: what stands in sweep.json becomes part of paths."""
    return name not in ("", ".", "..") and "/" not in name and name.isprintable() and len(os.fsencode(name)) <= 255


def read_sweep(folder):
    """(sweep.json, its entries of runs); LoadError where it is none."""
    problems = []
    sweep, whole = read_json(folder / "sweep.json", problems)
    entries = sweep.get("runs")
    if not whole or not isinstance(entries, list) or not all(isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in entries):
        raise LoadError(f"{folder}/sweep.json is no sweep: {'; '.join(problems) or 'it has no list of runs'}")
    return sweep, entries


def run_of_entry(folder, sweep, entry, axes):
    """The run that an entry of sweep.json is about; one that has not begun is there too."""
    path = folder / "runs" / entry["id"]
    run = read_run(path, entry["id"]) if is_run(path) else waiting_run(path, entry["id"], folder / "configs" / f"{entry['id']}.yaml")
    settings = {key: str(value) for key, value in entry.get("settings", {}).items()}
    run.settings, run.case = {key: value for key, value in settings.items() if not is_seed(key)}, str(entry.get("case", ""))
    if "case" in axes:
        run.settings = {"case": run.case, **run.settings}
    run.group = label_of({key: run.settings.get(key, "") for key in axes}, axes) or str(sweep.get("name", folder.name))
    run.seed = entry.get("seed", run.seed)
    run.seeds = {**run.seeds, **{key: value for key, value in settings.items() if key.startswith("seeds.")}}
    run.planned_rounds = entry.get("rounds") or run.planned_rounds
    judge_by_sweep(run, entry, folder)
    return run


def sweep_runs(folder):
    """(sweep.json, its runs in its order)."""
    sweep, entries = read_sweep(folder)
    for entry in entries:
        if not is_plain_name(entry["id"]):
            raise LoadError(f"{folder}/sweep.json: id {entry['id']!r}: is no plain name, so it cannot be that of a run's folder; sweep.json "
                            "is damaged, or not what fedhive sweep wrote.")
    axes = setting_keys(sweep, entries)
    return sweep, [run_of_entry(folder, sweep, entry, axes) for entry in entries]


def run_given_alone(path, sweeps):
    """(the run, the folder of the sweep that it belongs to, or None): what its sweep says of it holds. `sweeps`: those read so far."""
    folder = path.parent.parent
    if path.parent.name == "runs" and (folder / "sweep.json").is_file():
        try:
            if folder not in sweeps:
                sweeps[folder] = read_sweep(folder)
            sweep, entries = sweeps[folder]
            for entry in entries:
                if entry["id"] == path.name:
                    return run_of_entry(folder, sweep, entry, setting_keys(sweep, entries)), folder
        except LoadError:
            pass  # the run is whole without it
    return read_run(path, path.name), None


def setting_keys(sweep, entries):
    """The keys that the sweep varies, without its seeds; where its cases have names, `case` for those that the case decides."""
    keys = sweep.get("keys") or dict.fromkeys(key for entry in entries for key in entry.get("settings", {}))
    return with_cases([key for key in keys if not is_seed(key)], [(str(entry.get("case", "")), entry.get("settings", {})) for entry in entries])


def with_cases(keys, rows):
    """`rows`: (name of the case or "", settings) of each run. If cases have names, `case` replaces the keys that the case sets."""
    cases = {case for case, _ in rows}
    if not any(cases):
        return list(keys)

    def values(case, key):
        return {str(settings.get(key, "")) for name, settings in rows if name == case}

    return ["case", *(key for key in keys if not all(cases) or any(len(values(case, key)) > 1 for case in cases))]


def label_of(settings, axes, shown=lambda text, otherwise=None: text if otherwise is None else otherwise):
    """"lr=0.1,scheme=iid": the run's id without its seed, and whole where that is cut short. `shown`: display names, see Report.shown."""
    names = short_keys(axes)
    return ",".join(shown(value) if key == "case" else f"{shown(key, names.get(key, key))}={shown(value)}"
                    for key, value in settings.items() if value != "")


def ran_side_by_side(runs, sweep):
    """By their manifests, whether two of them were under way at the same time: they shared the machine's cores."""
    if (sweep or {}).get("jobs") == 1:
        return False
    spans = sorted((str(run.manifest["started"]), str(run.manifest["finished"])) for run in runs
                   if run.manifest.get("started") and run.manifest.get("finished"))
    latest = ""
    for start, end in spans:
        if start < latest:
            return True
        latest = max(latest, end)
    return False


def judge_by_sweep(run, entry, folder):
    """Facts that only the sweep knows: that it gave up a run, or that the run's process ended before it wrote a manifest."""
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


def telling(axes, rows):
    """As few of the axes as tell the rows (dicts) apart, the first ones before the later ones: the strategy's name, and not its rates."""
    kept = list(axes)
    for key in reversed(axes):
        fewer = [other for other in kept if other != key]
        if len({tuple(row.get(name, "") for name in fewer) for row in rows}) == len({tuple(row.get(name, "") for name in kept) for row in rows}):
            kept = fewer
    return kept


def compare(runs, axes):
    """Settings and groups of runs that are not those of one sweep."""
    groups = {}
    for run in runs:
        config = flat(run.config)
        run.settings = {key: run.case if key == "case" else config.get(key, run.settings.get(key, "")) for key in axes}
        groups.setdefault(tuple(run.settings.values()), []).append(run)
    few, taken = telling(axes, [members[0].settings for members in groups.values()]), set()
    for members in groups.values():
        label = group_label(members, axes, few)
        label = label if label not in taken else f"{label} ({members[0].label})"
        taken.add(label)
        for run in members:
            run.group = label


def group_label(members, axes, few):
    """By what is different, where that is short, or by the few keys that tell the groups apart; else by the sweep's id, the only member's
    label, or the name in the config."""
    first = members[0]
    for keys in (axes, few):
        by_settings = label_of({key: first.settings[key] for key in keys}, axes)
        if by_settings and len(by_settings) <= 48:
            return by_settings
    if first.group:
        return first.group
    return first.label if len(members) == 1 and axes else str(first.config.get("name") or first.manifest.get("name") or first.label)


def part_of_sweep(runs, sweep):
    """The report on some runs of one sweep: what they differ in is told as the sweep tells it."""
    rows = [(run.case, run.settings) for run in runs]
    keys = [key for key in dict.fromkeys(key for run in runs for key in run.settings) if key != "case"]
    axes = [key for key in with_cases(keys, rows) if len({run.settings.get(key, "") for run in runs}) > 1]
    for run in runs:
        run.group = label_of({key: run.settings.get(key, "") for key in axes}, axes) or run.group
    return Report(str(sweep.get("name", "")), runs, sweep, axes, ran_side_by_side(runs, sweep))


def load(paths):
    """The report on these folders, each that of a run or of a sweep. LoadError where one is neither."""
    runs, whole, known, parents = [], [], {}, set()
    for path in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):
        if (path / "sweep.json").is_file():
            sweep, found = sweep_runs(path)
            whole.append(sweep)
            parents.add(path)
            runs += found
        elif is_run(path):
            run, parent = run_given_alone(path, known)
            parents.add(parent)
            runs.append(run)
        else:
            raise LoadError(f"{path} is neither a run (config.yaml, manifest.json, rounds.csv) nor a sweep (sweep.json): "
                            f"{what_is_there(path)}.")
    if not runs:
        raise LoadError(f"The sweep in {paths[0]} has no runs.")
    unique_labels(runs)
    if len(whole) == 1 and len(paths) == 1:
        return Report(str(whole[0].get("name", Path(paths[0]).name)), runs, whole[0], setting_keys(whole[0], whole[0]["runs"]),
                      ran_side_by_side(runs, whole[0]))
    if not whole and len(parents) == 1 and None not in parents:
        return part_of_sweep(runs, known[parents.pop()][0])
    axes = differences(runs)
    if parents != {None}:  # a sweep's scheduler gives out workers as there is room; that is no difference
        axes = [key for key in axes if key not in ("workers", "threads")]
    compare(runs, with_cases(axes, [(run.case, flat(run.config)) for run in runs]))
    axes = list(runs[0].settings)
    names = list(dict.fromkeys(str(run.config.get("name") or run.label) for run in runs))
    title = names[0] if len(names) == 1 else ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Report(title, runs, None, axes, ran_side_by_side(runs, None))
