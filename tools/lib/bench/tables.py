"""table.md for people, table.csv for programs; both of the same figures."""
import csv

from bench import measure
from bench.sides import IN_TRAINING, PHASES

CSV_HEADER = ("workload", "side", "figure", "median", "lowest", "highest", "repeats")
AGGREGATION = (("rule_s", "Seconds", ".6f"), ("gb_per_s", "GB/s", ".1f"), ("copy_gb_per_s", "Copy, GB/s", ".1f"), ("of_copy", "Of the copy", ".0%"))
BARRIER = (("awake_us", "Awake, µs", ".1f"), ("awake_99_us", "99 %, µs", ".1f"), ("asleep_us", "Asleep, µs", ".1f"), ("asleep_99_us", "99 %, µs", ".1f"))


def markdown(header, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])


def _median(values, form):
    return format(measure.spread(values)[0], form) if values else "–"


def _of(repeats, side, figure):
    return [repeat[side][figure] for repeat in repeats if repeat.get(side, {}).get(figure) is not None]


def _ratios(found, side, against, figure):
    """Of the repeats in which neither failed."""
    return measure.ratios([{name: figures for name, figures in repeat.items() if figure in figures} for repeat in found["repeats"]],
                          side, against, figure)


def speeds(found, side, reference):
    """Of each repeat: how fast the side is where the reference is 1."""
    return _ratios(found, side, reference, "round_s")


def outside(found, side):
    """Of each repeat: seconds of the whole process beside the rounds at their median: starting, data, evaluation, what a first round takes longer."""
    rounds = found["workload"]["rounds"]
    return [figures["whole_s"] - rounds * figures["round_s"] for figures in (repeat.get(side, {}) for repeat in found["repeats"]) if "whole_s" in figures]


def wholes(found, side):
    """Of each repeat: how many times as long as fedhive's the side's whole process took."""
    return _ratios(found, "fedhive", side, "whole_s")


def _speed(values):
    if not values:
        return "–"
    median, low, high = measure.spread(values)
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def sides_table(found, reference):
    """One workload: a row a side, in the order in which they were made."""
    rows = []
    for side, note in found["how"].items():
        repeats = found["repeats"]
        problem = next((repeat[side]["failed"] for repeat in repeats if "failed" in repeat.get(side, {})), "")
        if problem:
            rows.append([side, *["–"] * 7, problem])
            continue
        accuracy, memory = _of(repeats, side, "accuracy"), found["memory"].get(side)
        rows.append([side, _speed(speeds(found, side, reference)), _median(_of(repeats, side, "round_s"), ".4f"),
                     _median(_of(repeats, side, "whole_s"), ".1f"), _speed(wholes(found, side)), _median(outside(found, side), ".1f"), f"{memory:.0f}" if memory else "–", _median(accuracy, ".4f"), note])
    return markdown(["Side", f"Speed ({reference} = 1)", "Round, s", "Whole process, s", "fedhive's = 1", "Outside rounds, s", "Peak memory, MiB",
                     "Accuracy", "Note"], rows)


def phases_table(found):
    """Where fedhive's round goes."""
    rows = []
    for side in found["how"]:
        measured = [repeat[side]["phases"] for repeat in found["repeats"] if repeat.get(side, {}).get("phases")]
        if measured:
            medians = {name: measure.spread([each[name] for each in measured])[0] for name in measured[0]}
            whole = sum(medians[name] for name in (*PHASES, "rest"))
            before, after = PHASES[:2], (*PHASES[2:], "rest")
            shares = (f"{1e3 * medians[name]:.3f} ms, {medians[name] / whole:.1%}" for name in (*before, *IN_TRAINING, *after))
            rows.append([side, *shares, f"{1e3 * medians['evaluate']:.3f} ms"])
    header = ["Side", "pull down", "train", "in it a worker: gather", "local steps", "update", "wait", "barrier", "aggregate", "server step", "rest",
              "beside it: evaluate"]
    return markdown(header, rows) if rows else ""


def _glance(measured, title, without, figures):
    sides = list(dict.fromkeys(side for found in measured.values() for side in found["how"] if side != without))
    return markdown([title, *sides], [[name, *(_speed(figures(found, side)) for side in sides)] for name, found in measured.items()])


def glance(measured, reference):
    """{name: what was found} of the workloads that train: the speed of every side in every one, and how long each one's process took."""
    return (_glance(measured, f"Speed ({reference} = 1)", reference, lambda found, side: speeds(found, side, reference)) + "\n\n" +
            _glance(measured, "Whole process (fedhive's seconds = 1)", "fedhive", wholes))


def part_table(rows, columns):
    return markdown(["Case", *(title for _, title, _ in columns)],
                    [[row["case"], *(_median(row[key], form) for key, _, form in columns)] for row in rows])


def csv_rows(name, found, reference):
    """Everything in long form."""
    if "rows" in found:
        for row in found["rows"]:
            yield from ((name, row["case"], key, *measure.spread(values), len(values)) for key, values in row.items() if key != "case" and values)
        return
    for side in found["how"]:
        figures = {key: _of(found["repeats"], side, key) for key in ("round_s", "whole_s", "accuracy")}
        figures["speed"] = speeds(found, side, reference)
        figures["outside_s"] = outside(found, side)
        figures["whole_ratio"] = wholes(found, side)
        figures["peak_mib"] = [found["memory"][side]] if found["memory"].get(side) else []
        for phase in (*PHASES, *IN_TRAINING, "rest", "evaluate"):
            figures[f"{phase}_s"] = [repeat[side]["phases"][phase] for repeat in found["repeats"] if repeat.get(side, {}).get("phases")]
        yield from ((name, side, key, *measure.spread(values), len(values)) for key, values in figures.items() if values)


def write_csv(file, rows):
    with open(file, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_HEADER)
        writer.writerows([*row[:3], *(f"{value:.9g}" for value in row[3:6]), row[6]] for row in rows)
