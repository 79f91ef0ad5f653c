"""Groups of runs against a baseline, in pairs: two runs that share their seeds share what these decide (partition, first model, cohorts), so
that their difference varies less than either. A row is the mean of the differences with its 95 % interval."""
from dataclasses import dataclass

import numpy as np

from report import digits
from report.figures.groups import finite, groups_of, mean_interval, number_of, seed_keys, seed_of, weights_note
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


def parts_of(key, axes):
    """The axes that are parts of what `key` names: strategy.server_lr of strategy.name."""
    return {other for other in axes if key.endswith(".name") and other != key and other.startswith(key.removesuffix("name"))}


def without_parts(keys):
    """The keys, less those that are parts of another one of them."""
    return [key for key in keys if not any(key in parts_of(name, keys) for name in keys)]


def pairs_of(group, base, keys):
    others = {seed_of(run, keys): run for run in base.finished()}
    return [(run, others[seed_of(run, keys)]) for run in group.finished() if seed_of(run, keys) in others]


def axis_and_value(report, groups, given):
    """What `--baseline AXIS=VALUE` names; LoadError where there is no such axis or value."""
    name, is_pair, value = given.partition("=")
    key = report.axis_of(name)
    if not is_pair or key is None:
        raise LoadError(f"--baseline {given}: wants AXIS=VALUE with one of the varied keys: {report.axes_in_words()}")
    values = list(dict.fromkeys(group.settings().get(key, "") for group in groups))
    found = next((one for one in values if same(one, value)), None)
    if found is None:
        raise LoadError(f"--baseline {given}: no run has {short_keys(report.axes)[key]}={value}; allowed: {', '.join(one for one in values if one)}")
    return key, found


@dataclass
class LeftOut:
    """A group that is in no row, and why."""
    group: object
    reason: str

    def __str__(self):
        return f"{self.group.label} ({self.reason})"


def base_of(group, bases, key, report):
    """The base that is like the group in all but `key` and its parts, by which most is the same; or why there is none, as LeftOut."""
    axes, names = report.axes, short_keys(report.axes)
    known = [base for base in bases if not set(differing(group, base, axes)) - {key} - parts_of(key, axes)]
    if not known:
        nearest = min(bases, key=lambda base: len(differing(group, base, axes)))
        words = [f"{names[other]} {group.settings()[other]}, there {nearest.settings()[other]}" for other in differing(group, nearest, axes) if other != key]
        return LeftOut(group, "; ".join(words))
    alike = [sum(group.settings().get(axis) == base.settings().get(axis) for axis in axes) for base in known]
    if alike.count(max(alike)) > 1:
        return LeftOut(group, "fits several: " + "; ".join(base.label for base, count in zip(known, alike) if count == max(alike)))
    return known[alike.index(max(alike))]


def beside_each(report, groups, key, value):
    """([Comparison] of each group with the one that has the value and is like it in all else, [LeftOut])."""
    found, left_out, seeds = [], [], seed_keys(report.runs)
    bases = [group for group in groups if group.settings().get(key, "") == value]
    for group in groups:
        if group in bases:
            continue
        base = base_of(group, bases, key, report)
        if isinstance(base, LeftOut):
            left_out.append(base)
        elif not (pairs := pairs_of(group, base, seeds)):
            left_out.append(LeftOut(group, f"no finished run shares its seeds with one of {base.label}"))
        else:
            found.append(Comparison(group, base, pairs))
    return found, left_out


def beside_the_first(report, groups):
    """([Comparison] with the first group, of those that differ from it in one key; of all, where axes vary together and none does,
    how many differ in more). A part goes with what it is a part of, unless a group differs in that alone: then it varies by itself."""
    first, seeds = groups[0], seed_keys(report.runs)
    differ = {group.label: differing(group, first, report.axes) for group in groups[1:]}
    alone = {(keys[0], group.settings()[keys[0]]) for group in groups[1:] if len(keys := differ[group.label]) == 1}

    def is_near(group):
        keys = differ[group.label]
        kept = without_parts(keys)
        return len(keys) <= 1 or (len(kept) == 1 and (kept[0], group.settings()[kept[0]]) not in alone)

    near = [group for group in groups[1:] if is_near(group)]
    found = [Comparison(group, first, pairs_of(group, first, seeds)) for group in near or groups[1:]]
    return [one for one in found if one.pairs], len(groups) - 1 - len(near) if near else 0


def remedy(report, key):
    if key == "case":
        return "Cases are compared where these keys are equal: add runs with the missing values."
    if "case" in report.axes:
        return "To compare them all the same: --baseline case=NAME."
    return "To compare them all the same, write the settings as cases with names, and --baseline case=NAME (docs/sweeps.md)."


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


def comparisons(report, given):
    """([Comparison], what the note says of the baseline and of those that are left out)."""
    groups, names = groups_of(report), short_keys(report.axes)
    if given is None:
        found, more = beside_the_first(report, groups)
        others = f" Without a row: {more} that differ{'s' if more == 1 else ''} from it in more than one key; --baseline AXIS=VALUE compares others." if more else ""
        return found, f"Difference to {groups[0].label}", others
    key, value = axis_and_value(report, groups, given)
    found, left_out = beside_each(report, groups, key, value)
    parts = [names[other] for other in report.axes if any(other in parts_of(key, report.axes) and other in differing(one.group, one.base, report.axes) for one in found)]
    besides = f" but {' and '.join(parts)}, which {'goes' if len(parts) == 1 else 'go'} with {names[key]}" if parts else ""
    words = f"Difference to {value if key == 'case' else f'{names[key]}={value}'}, all else equal{besides}"
    return found, words, f" Left out: {'; '.join(map(str, left_out))}. {remedy(report, key)}" if left_out else ""


def left_out_words(report, given):
    """A note for a reader who asked for a baseline; empty if all groups have a row."""
    return comparisons(report, given)[2].strip() if given is not None else ""


def pair_table(report, frame, shown, baseline=None):
    """None where no two groups share seeds; with a baseline asked for, whatever there is."""
    found, words, others = comparisons(report, baseline)
    if baseline is None and max((len(one.pairs) for one in found), default=0) < 2:
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
             *([base_cell(one, report.axes, shown)] if several else []), Cell(str(len(one.pairs)), len(one.pairs)),
             *(columns[measure.name][row] for measure in measures)] for row, one in enumerate(found)]
    note = (f"{words}, between runs that share their seeds: mean ± half the width of its 95 % interval (Student’s t) over the "
            f"pairs. Bold: the interval does not hold 0. Of twenty such intervals, one misses by chance alone.{others}")
    return Table("pairs", "Paired differences", note, heads, rows, foot=weights_note(report, shown.label))
