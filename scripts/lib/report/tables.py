"""The tables of a report: numbers of frames.py as texts, the same for the page, Markdown and LaTeX."""
from dataclasses import dataclass

import numpy as np
import pandas as pd

from report import digits
from report.figures.groups import column, failures_of, finite, weights_note
from report.frames import Shown
from report.load import short_keys

NOTHING = "–"
SPREADS = {"ci": "half the width of its 95 % interval (Student’s t)", "std": "the standard deviation (of the sample: n − 1)"}
PACKED = "Runs ran side by side and shared the machine, so their wall times do not say which setting is faster"


@dataclass
class Table:
    """Cells of a table on the page: texts, each with the value that sorts it."""
    name: str
    title: str
    note: str
    heads: list                 # (title, what it means, whether its cells are numbers)
    rows: list                  # lists of Cell
    hidden_rows: int = 0        # more rows than a reader wants; the page says how many are left out
    foot: str = ""              # what a reader of the printed table has to know, too
    above: str = ""             # the key whose values the heads of the numbers are


@dataclass
class Cell:
    text: str
    value: float | str = ""     # sorted by this
    status: str = ""            # a run's status, which the page colours
    link: str = ""              # anchor on the page
    strong: bool = False        # the best of its column, or a difference that is one


def number_cell(value, write, scale=1.0):
    return Cell(NOTHING) if value is None or pd.isna(value) else Cell(write(value * scale if scale != 1.0 else value), float(value))


def setting_cell(text, shown=Shown()):
    try:
        return Cell(shown.label(text) or NOTHING, float(text))
    except ValueError:
        return Cell(shown.label(text) or NOTHING, text)


def axes_shown(report):
    """Settings that have columns: with more of them the results would be far to the right, and the page tells differences elsewhere."""
    return report.axes if len(report.axes) <= 6 else []


def setting_heads(report, shown=Shown()):
    return [(shown.label(key, name), key, False) for key, name in short_keys(axes_shown(report)).items()]


def named_by_settings(report):
    """In a sweep the settings say which run or group it is; its name would only say it again."""
    return report.sweep is not None and bool(axes_shown(report))


def measured_columns(frame, shown, cells_of):
    """([(measure, its cells)], what is the same in all rows). A column without a value, or without a failure, is left out; what a run costs
    goes into a sentence where it is the same for all."""
    columns, same = [], []
    for one in shown.measures():
        if not frame[one.name].notna().any() or (one.name == "failed" and not frame["failed"].fillna(0).any()):
            continue
        cells = cells_of(one)
        if not one.result and shown.columns is None and len(cells) > 1 and len({cell.text for cell in cells}) == 1:
            same.append(f"{one.title} {cells[0].text}")
        else:
            columns.append((one, cells))
    return columns, f"The same in all: {'; '.join(same)}." if same else ""


def seed_cell(run):
    """The seed, and those that the run has of their own."""
    own = [f"{key.removeprefix('seeds.')} {text}" for key, text in run.seeds.items() if text != str(run.seed)]
    known = [] if run.seed is None else [str(run.seed)]
    return Cell(", ".join(known + own) or NOTHING, "" if run.seed is None else float(run.seed))


def run_table(report, frame, shown=Shown()):
    records, numbered = frame.to_dict("records"), named_by_settings(report)
    columns, same = measured_columns(frame, shown, lambda one: [number_cell(row[one.name], one.write, one.scale) for row in records])
    first = ("#", "in the order of the sweep; leads to the run's config", True) if numbered else ("Run", "its folder", False)
    heads = [first, *setting_heads(report, shown), ("Seed", "", True), ("Status", "", False),
             ("Rounds", "finished, of those planned", True), *((one.title, one.meaning, True) for one, _ in columns)]
    rows = []
    for number, row in enumerate(records, 1):
        planned = "" if pd.isna(row["planned_rounds"]) or row["planned_rounds"] == row["rounds_done"] else f" of {row['planned_rounds']}"
        name = Cell(str(number), number, link=f"run-{number}") if numbered else Cell(row["run"], row["run"], link=f"run-{number}")
        rows.append([name, *(setting_cell(row[key], shown) for key in axes_shown(report)),
                     seed_cell(report.runs[number - 1]), Cell(row["status"], row["status"], status=row["status"]),
                     Cell(f"{row['rounds_done']}{planned}", row["rounds_done"]), *(cells[number - 1] for _, cells in columns)])
    packed = f"{PACKED}." if report.packed and any(one.name == "wall_s" for one, _ in columns) else ""
    return Table("runs", "Runs", " ".join(filter(None, (same, packed))), heads, rows, foot=weights_note(report, shown.label))


def interval_cell(row, one, spread="ci"):
    mean, half, n = row[one.name], row[f"{one.name}_{spread}"], row[f"{one.name}_n"]
    if n == 0:
        return Cell(NOTHING)
    text = digits.plus_minus(mean * one.scale, half * one.scale, one.write)
    return Cell(text + ("" if n == row["finished"] else f" (n = {n})"), float(mean))


def mark_best(one, records, cells):
    """The best mean of a column, and all that look the same; where only some runs of a group have a value, it is no mean of the group."""
    known = [cell for row, cell in zip(records, cells) if row[f"{one.name}_n"] == row["finished"] > 0]
    values = [cell.value for cell in known]
    if one.better == 0 or not known or max(values) - min(values) <= 1e-9 * abs(max(values)):
        return
    best = max(known, key=lambda cell: one.better * cell.value).text
    for cell in known:
        cell.strong = cell.text == best


def group_table(report, frame, shown=Shown()):
    records, named = frame.to_dict("records"), not named_by_settings(report)
    columns, same = measured_columns(frame, shown, lambda one: [interval_cell(row, one, shown.spread or "ci") for row in records])
    packed = report.packed and any(one.name == "wall_s" for one, _ in columns)
    if packed and shown.columns is None:
        columns = [(one, cells) for one, cells in columns if one.name != "wall_s"]
    for one, cells in columns:
        if not (report.packed and one.name == "wall_s"):
            mark_best(one, records, cells)
    heads = [*([("Group", "runs that differ in their seeds only", False)] if named else []), *setting_heads(report, shown),
             ("n", "finished runs, of all in the group", True), *((one.title, one.meaning, True) for one, _ in columns)]
    rows = []
    for number, row in enumerate(records):
        n = f"{row['finished']}" + ("" if row["finished"] == row["runs"] else f" of {row['runs']}")
        name = [Cell(row["group"], row["group"])] if named else []
        rows.append([*name, *(setting_cell(row[key], shown) for key in axes_shown(report)), Cell(n, row["finished"]),
                     *(cells[number] for _, cells in columns)])
    note = f"Mean ± {SPREADS[shown.spread or 'ci']} over the n finished runs of the group, which differ in their seeds only. Bold: the best mean."
    left_out = f"{PACKED}{'; they are left out here' if shown.columns is None else ''}." if packed else ""
    return Table("groups", "Over seeds", " ".join(filter(None, (note, same, left_out))), heads, rows, foot=weights_note(report, shown.label))


def failure_rows(run):
    """A row a kind of failure: what clients.csv and events.jsonl say about it."""
    events = [event for event in run.events if event.get("event") == "failure"]
    words = failures_of(run.clients)
    kinds = dict.fromkeys([*sorted(set(words) - {""}), *(str(event.get("kind")) for event in events)])
    for kind in kinds:
        told = [event for event in events if str(event.get("kind")) == kind]
        lost = run.clients[words == kind]
        rounds = [*lost["round"], *(event.get("round", -1) for event in told)]
        rounds = sorted(int(value) for value in rounds if isinstance(value, (int, float, np.number)) and value > 0)
        actions = pd.Series([str(event.get("action")) for event in told], dtype=str).value_counts()
        clients = set(finite(column(lost, "client_id"))) | {event.get("client", -1) for event in told} - {-1}
        yield {"run": run.label, "kind": kind.replace("_", " "), "lost": len(lost), "events": len(told), "clients": len(clients),
               "rounds": "" if not rounds else str(rounds[0]) if rounds[0] == rounds[-1] else f"{rounds[0]}–{rounds[-1]}",
               "first": rounds[0] if rounds else -1,
               "actions": ", ".join(f"{count} {name}".replace("_", " ") for name, count in actions.items()),
               "message": next((str(event["message"]) for event in told if event.get("message")), "")}


def failure_table(report, limit=200):
    """None where nothing failed."""
    found = [row for run in report.runs for row in failure_rows(run)]
    if not found:
        return None
    heads = [("Run", "", False), ("Kind", "as in clients.csv and events.jsonl", False),
             ("Lost trainings", "rows of clients.csv without an update", True),
             ("Events", "failures in events.jsonl, those retried included", True),
             ("Clients", "different clients it happened to", True), ("Rounds", "first and last", True), ("What was done", "", False),
             ("First message", "", False)]
    rows = [[Cell(row["run"], row["run"]), Cell(row["kind"], row["kind"]), Cell(digits.whole(row["lost"]), row["lost"]),
             Cell(digits.whole(row["events"]), row["events"]), Cell(digits.whole(row["clients"]), row["clients"]),
             Cell(row["rounds"] or NOTHING, row["first"]), Cell(row["actions"] or NOTHING, row["actions"]),
             Cell(row["message"] or NOTHING, row["message"])] for row in found]
    return Table("failures", "Failures", "", heads, rows[:limit], max(0, len(rows) - limit))
