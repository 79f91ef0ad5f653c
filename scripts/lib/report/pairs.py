"""Groups of runs against a baseline, in pairs: two runs that share their seeds share what these decide (partition, first model, cohorts), so
that their difference varies less than either. A row is the mean of the differences with its 95 % interval."""
from dataclasses import dataclass

import numpy as np

from report import digits
from report.figures.groups import finite, groups_of, mean_interval, number_of, seed_keys, seed_of
from report.load import LoadError, short_keys
from report.tables import NOTHING, Cell, Table, axes_shown, named_by_settings, setting_cell, setting_heads


@dataclass
class Comparison:
    group: object
    base: object
    pairs: list      # (run of the group, run of the baseline)


def same(one, other):
    """As texts of a config: 0.10 is 0.1."""
    return one == other or (number_of(one) is not None and number_of(one) == number_of(other))


def differing(group, base, axes):
    """The axes that both have, with different values; one that does not apply to either goes with another."""
    values = [(key, group.settings().get(key, ""), base.settings().get(key, "")) for key in axes]
    return [key for key, mine, theirs in values if mine != theirs and mine != "" and theirs != ""]


def pairs_of(group, base, keys):
    others = {seed_of(run, keys): run for run in base.finished()}
    return [(run, others[seed_of(run, keys)]) for run in group.finished() if seed_of(run, keys) in others]


def axis_and_value(report, groups, given):
    """What `--baseline AXIS=VALUE` names; LoadError where there is no such axis or value."""
    name, is_pair, value = given.partition("=")
    short = short_keys(report.axes)
    key = next((key for key in report.axes if name in (key, short[key])), None)
    if not is_pair or key is None:
        raise LoadError(f"--baseline {given}: wants AXIS=VALUE with one of the varied keys: {', '.join(short.values()) or 'here there is none'}")
    values = list(dict.fromkeys(group.settings().get(key, "") for group in groups))
    found = next((one for one in values if same(one, value)), None)
    if found is None:
        raise LoadError(f"--baseline {given}: no run has {short[key]}={value}; allowed: {', '.join(one for one in values if one)}")
    return key, found


def beside_each(groups, axes, key, value):
    """(group, the group with the value that is like it in all else): by which most is the same, where several have it."""
    for group in groups:
        if group.settings().get(key, "") == value:
            continue
        bases = [base for base in groups if base.settings().get(key, "") == value
                 and not set(differing(group, base, axes)) - {key}]
        alike = [sum(group.settings().get(axis) == base.settings().get(axis) for axis in axes) for base in bases]
        if bases and alike.count(max(alike)) == 1:
            yield group, bases[alike.index(max(alike))]


def comparisons(report, given=None):
    """([Comparison], against what). By default against the first group, of those that differ from it in one axis; of all, where axes vary
    together and none does."""
    groups = groups_of(report)
    keys = seed_keys(report.runs)
    if given is not None:
        key, value = axis_and_value(report, groups, given)
        found, words = list(beside_each(groups, report.axes, key, value)), f"{short_keys(report.axes)[key]}={value}, all else equal"
    else:
        first, others = groups[0], groups[1:]
        near = [group for group in others if len(differing(group, first, report.axes)) <= 1]
        found, words = [(group, first) for group in near or others], first.label
    return [Comparison(group, base, pairs_of(group, base, keys)) for group, base in found], words


def difference_cell(one, measure, values, labels):
    """values: label of a run -> number."""
    known = finite([values[mine.label] - values[theirs.label] for mine, theirs in one.pairs]) * measure.scale
    if not len(known):
        return Cell(NOTHING)
    mean, half = (float(part) for part in mean_interval(known))
    text = digits.plus_minus(mean, half, measure.write, "+") + ("" if len(known) == len(one.pairs) else f" (n = {len(known)})")
    return Cell(text, mean, strong=bool(abs(mean) > half) and len(known) > 1)


def base_cell(one, axes, shown):
    parts = [shown.label(one.base.settings().get(key, "")) or NOTHING for key in differing(one.group, one.base, axes)]
    return Cell(", ".join(parts) or one.base.label)


def pair_table(report, frame, shown, baseline=None):
    """None where no two groups share seeds; with a baseline asked for, whatever there is."""
    found, words = comparisons(report, baseline)
    found = [one for one in found if one.pairs]
    if not found or (baseline is None and max(len(one.pairs) for one in found) < 2):
        return None
    by_label = frame.set_index("run")
    measures = [one for one in shown.measures() if (one.result or one.name in ("rounds_to_target", "virtual_s") or shown.columns) and
                by_label[one.name].notna().any() and not (report.packed and one.name == "wall_s")]
    columns = {one.name: [difference_cell(pair, one, by_label[one.name], shown) for pair in found] for one in measures}
    measures = [one for one in measures if one.result or any(cell.value not in ("", 0.0) for cell in columns[one.name])]
    named, several = not named_by_settings(report), len({one.base.label for one in found}) > 1
    heads = [*([("Group", "runs that differ in their seeds only", False)] if named else []), *setting_heads(report, shown),
             *([("Against", "the baseline's value", False)] if several else []), ("Pairs", "finished runs that share their seeds", True),
             *((one.title, one.meaning, True) for one in measures)]
    rows = [[*([Cell(one.group.label, one.group.label)] if named else []),
             *(setting_cell(one.group.settings().get(key, ""), shown) for key in axes_shown(report)),
             *([base_cell(one, report.axes, shown)] if several else []), Cell(str(len(one.pairs)), len(one.pairs)), *(columns[measure.name][row] for measure in measures)] for row, one in enumerate(found)]
    note = (f"Difference to {words}, between runs that share their seeds: mean ± half the width of its 95 % interval (Student’s t) over the "
            "pairs. Bold: the interval does not hold 0. Of twenty such intervals, one misses by chance alone.")
    return Table("pairs", "Paired differences", note, heads, rows)
