"""What the figures compute from the tables: groups of runs that differ in their seeds only, final values, means with intervals."""
import re
from dataclasses import dataclass

import numpy as np

from report.load import label_of
from report.metric import METRICS, metric_of_runs

CRASHED = ("failed", "killed", "damaged")
MANY = 8  # groups; more than these are not told apart by colours of their own
RANGES = {metric.column: (0.0, metric.most) for metric in METRICS} | {"test_loss": (0.0, np.inf), "train_loss": (0.0, np.inf)}  # not to be left


@dataclass
class Group:
    label: str
    runs: list
    drawn: str = ""   # the label as figures show it, with display names

    def settings(self):
        return self.runs[0].settings

    def finished(self):
        """Its finished runs, one a seed: a repeated run gives the same bits, and would make the interval too narrow."""
        by_seed, keys = {}, seed_keys(self.runs)
        for run in self.runs:
            if run.status == "finished":
                by_seed.setdefault(seed_of(run, keys), run)
        return list(by_seed.values())

    def final(self):
        """Last value of the metric of each finished run."""
        return finite([final_value(run) for run in self.finished()])


def seed_keys(runs):
    """`seed` and those of `seeds` that some run has."""
    return ["seed", *dict.fromkeys(key for run in runs for key in run.seeds)]


def seed_of(run, keys):
    """The seeds that pair runs of different groups and tell repetitions in one group apart. A run without seeds has no pair."""
    return tuple(run.seed_of(key) for key in keys) if run.seed is not None or run.seeds else (id(run),)


def groups_of(report):
    groups = {}
    for run in report.runs:
        groups.setdefault(run.group, Group(run.group, [], label_in(report, run, report.drawn))).runs.append(run)
    return list(groups.values())


def label_in(report, run, shown):
    """The label of the run's group with display names; `shown`: those of the page, report.shown, or of figures, report.drawn."""
    settings = {key: run.settings.get(key, "") for key in report.axes}
    if any(text in report.labels for item in settings.items() for text in item):
        return label_of(settings, report.axes, shown)
    return shown(run.group)


def weights_note(report, shown=None):
    """"Weights: SCAFFOLD uniform; others by examples." Empty where all weigh their clients alike, or only an axis can say how. `shown`: display names."""
    shown, by_name = shown or report.shown, {}
    for run in report.runs:
        strategy = run.config.get("strategy")
        if isinstance(strategy, dict) and "weighting" in strategy:
            by_name.setdefault(run.case or str(strategy.get("name", "")), set()).add(strategy["weighting"])
    weightings = set().union(*by_name.values())
    if len(weightings) < 2:
        return ""
    if any(len(own) > 1 for own in by_name.values()):
        return "" if "strategy.weighting" in report.axes else "Some runs weigh clients alike, others by their examples: strategy.weighting in their configs."
    uniform = [shown(name) for name, own in by_name.items() if own == {"uniform"}]
    return f"Weights: {', '.join(uniform)} uniform; others by examples."


def column(table, name):
    """A column as floats; NaN where the table does not have it, or not that value. Infinite values are NaN too."""
    if name not in table.columns:
        return np.full(len(table), np.nan)
    values = table[name].to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def failures_of(table):
    return table["failure"].fillna("").astype(str) if "failure" in table.columns else table.index.to_series().map(lambda _: "")


def finite(values):
    values = np.asarray(values, dtype=float)
    return values[np.isfinite(values)]


def final_value(run, metric=None):
    """Of the metric, by default the run's own, in the last evaluated round."""
    known = finite(column(run.rounds, (metric or run.metric).column))
    return known[-1] if len(known) else np.nan


def best_value(run, metric=None):
    metric = metric or run.metric
    known = finite(column(run.rounds, metric.column))
    return metric.best(known) if len(known) else np.nan


def metric_of_groups(groups):
    return metric_of_runs([run for group in groups for run in group.runs])


def mean_interval(values):
    """Mean over the first axis and half the width of its 95 % interval (Student's t); that is NaN for a single value."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < 2:
        return values.mean(axis=0), np.full(values.shape[1:], np.nan)
    from scipy import special  # not above: a report of single runs does without

    half = special.stdtrit(n - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return values.mean(axis=0), half


def interval_within(name, mean, half):
    """Both ends of an interval, cut to what the quantity can be."""
    low, high = RANGES[name]
    return np.clip(mean - half, low, high), np.clip(mean + half, low, high)


def ranked(groups):
    """Those with a final value, the best first."""
    scored, better = [(group.final().mean(), group) for group in groups if len(group.final())], metric_of_groups(groups).better
    return [group for _, group in sorted(scored, key=lambda pair: -better * pair[0])]


def best_median_worst(groups):
    order = ranked(groups)
    return [order[0], order[len(order) // 2], order[-1]] if len(order) >= 3 else order


def a_few(groups):
    """(the groups that a figure has room for, what its caption says about the others)"""
    if len(groups) <= MANY:
        return groups, ""
    few = best_median_worst(groups) or groups[:3]
    which = f"the best, the median and the worst by final test {metric_of_groups(groups).title}" if ranked(groups) else f"the first {len(few)}"
    return few, f" Of {len(groups)} groups of runs only {which} are shown."


def shown_runs(report, usable, limit=3):
    """(runs that get a figure of their own, what a caption says about the others). Few runs: all; more: the one of median duration."""
    runs = [run for run in report.runs if usable(run)]
    if len(runs) <= limit:
        return runs, ""
    order = sorted(runs, key=lambda run: np.nansum(column(run.rounds, "wall_s")))
    return [order[len(order) // 2]], f" Of {len(runs)} runs the one of median duration is shown."


def number_of(text):
    """The value of a setting as a number, None where it is none."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if np.isfinite(value) else None


def sorted_values(texts):
    """Each value once: numbers by size, before words in their order of appearance; what does not apply (empty) last."""
    texts = list(dict.fromkeys(texts))
    numbers = sorted((text for text in texts if number_of(text) is not None), key=number_of)
    words = [text for text in texts if number_of(text) is None and text != ""]
    return numbers + words + [text for text in texts if text == ""]


def numeric(texts):
    return all(number_of(text) is not None for text in texts)


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def wrapped(label, count, width=46):
    """A group's label and, in brackets, a count; long ones on several lines, broken at the label's commas."""
    lines = [""]
    for part in [*re.split(r"(?<=,)(?=(?:[^$]*\$[^$]*\$)*[^$]*$)", label), f"({count})"]:  # not in a formula
        part = part.strip()
        if lines[-1] and len(lines[-1]) + len(part) + 1 > width:
            lines.append(part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    return "\n".join(lines)
