"""The tables of a report: numbers in data frames first, then as text for the page, Markdown and LaTeX."""
import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from report.figures.groups import best_accuracy, column, failures_of, final_accuracy, finite, groups_of, mean_interval
from report.load import short_keys

NOTHING = "–"


@dataclass
class Table:
    """What stands on a page: texts, and beside each what it is sorted by."""
    name: str
    title: str
    note: str
    heads: list                 # (title, what it means, whether its cells are numbers)
    rows: list                  # lists of Cell
    hidden_rows: int = 0        # more rows than a reader wants; the page says how many are left out


@dataclass
class Cell:
    text: str
    value: float | str = ""     # sorted by this
    status: str = ""            # a run's status, which the page colours
    link: str = ""              # anchor on the page
    lines: list = field(default_factory=list)


def four_decimals(value, like=None):
    return f"{value:.4f}"


def significant(value, like=None):
    """7.84, 78.4, 784, 7,840: what one can read; an interval has as many decimals as its mean, which is `like`."""
    like = abs(value if like is None else like)
    return f"{value:,.{max(0, 2 - math.floor(math.log10(like))) if like > 0 else 0}f}"


def megabytes(value, like=None):
    return significant(value / 1e6, None if like is None else like / 1e6)


def whole(value, like=None):
    """Counts; a mean of counts has one decimal."""
    return f"{value:,.0f}" if float(value).is_integer() and like is None else f"{value:,.1f}"


# Column of run_frame, title, how it is written, what it means.
MEASURES = [
    ("final_test_accuracy", "Accuracy", four_decimals, "test accuracy of the last evaluated round"),
    ("best_test_accuracy", "Best", four_decimals, "highest test accuracy of all evaluated rounds"),
    ("final_test_loss", "Test loss", four_decimals, "of the last evaluated round; cross-entropy, mean per example"),
    ("final_train_loss", "Train loss", four_decimals, "of the last round; cross-entropy, mean per example"),
    ("rounds_to_target", "Rounds to target", whole, "first evaluated round that reached the target accuracy"),
    ("wall_s", "Wall time, s", significant, "of the whole run, start of the workers included"),
    ("virtual_s", "Simulated time, s", significant, "at the end of the last round, by the virtual clock"),
    ("bytes_down", "Down, MB", megabytes, "megabytes that a real server would send"),
    ("bytes_up", "Up, MB", megabytes, "megabytes that clients would send"),
    ("failed", "Failed", whole, "client trainings that failed, over all rounds"),
]


def last(values):
    known = finite(values)
    return known[-1] if len(known) else np.nan


def target_of(report):
    return (report.sweep or {}).get("target_accuracy")


def rounds_to(target, run):
    if target is None:
        return np.nan
    reached = run.rounds["round"][column(run.rounds, "test_accuracy") >= target]
    return reached.min() if len(reached) else np.nan


def wall_seconds(run):
    """What the manifest says; more, where it is that of the start and rounds were finished since."""
    wall = run.manifest.get("wall_s")
    total = wall.get("total") if isinstance(wall, dict) else None
    return max(total if isinstance(total, (int, float)) else 0.0, np.nansum(column(run.rounds, "wall_s"))) or np.nan


def run_frame(report):
    """A row a run, numbers as numbers, under the names of a sweep's summary.csv: what the tables show and what is exported."""
    rows = []
    for run in report.runs:
        rows.append({"run": run.label, "group": run.group, "seed": run.seed, "status": run.status, **run.settings,
                     "rounds_done": len(run.rounds), "planned_rounds": run.planned_rounds,
                     "final_test_accuracy": final_accuracy(run), "best_test_accuracy": best_accuracy(run),
                     "final_test_loss": last(column(run.rounds, "test_loss")), "final_train_loss": last(column(run.rounds, "train_loss")),
                     "rounds_to_target": rounds_to(target_of(report), run),
                     "wall_s": wall_seconds(run),
                     "virtual_s": last(column(run.rounds, "virtual_s")),
                     **{name: np.nansum(column(run.rounds, name)) if len(run.rounds) else np.nan
                        for name in ("bytes_down", "bytes_up", "failed")},
                     "reason": run.reason, "path": str(run.path)})
    frame = pd.DataFrame(rows)
    return frame.astype({"seed": "Int64", "planned_rounds": "Int64"})


def group_frame(report, runs):
    """A row a group: of each measure mean, half the width of its 95 % interval and n, over the group's finished runs (one a seed)."""
    rows, by_label = [], runs.set_index("run")
    for group in groups_of(report):
        finished = [run.label for run in group.finished()]
        row = {"group": group.label, **group.settings(), "finished": len(finished), "runs": len(group.runs)}
        for name, *_ in MEASURES:
            known = finite(by_label.loc[finished, name])
            mean, half = mean_interval(known) if len(known) else (np.nan, np.nan)
            row |= {name: mean, f"{name}_half": half, f"{name}_n": len(known)}
        rows.append(row)
    return pd.DataFrame(rows)


def measures_in(frame):
    """Those that have a value somewhere; zero failures everywhere are no column."""
    return [measure for measure in MEASURES
            if frame[measure[0]].notna().any() and not (measure[0] == "failed" and not frame["failed"].fillna(0).any())]


def number_cell(value, write):
    return Cell(NOTHING) if value is None or pd.isna(value) else Cell(write(value), float(value))


def setting_cell(text):
    try:
        return Cell(text or NOTHING, float(text))
    except ValueError:
        return Cell(text or NOTHING, text)


def axes_shown(report):
    """Settings that have columns: with more of them the results would be far to the right, and the page tells differences elsewhere."""
    return report.axes if len(report.axes) <= 6 else []


def setting_heads(report):
    return [(name, key, False) for key, name in short_keys(axes_shown(report)).items()]


def named_by_settings(report):
    """In a sweep the settings say which run or group it is; its name would only say it again."""
    return report.sweep is not None and bool(axes_shown(report))


def run_table(report, frame):
    measures, numbered = measures_in(frame), named_by_settings(report)
    first = ("#", "in the order of the sweep; leads to the run's config", True) if numbered else ("Run", "its folder", False)
    heads = [first, *setting_heads(report), ("Seed", "", True), ("Status", "", False),
             ("Rounds", "finished, of those planned", True), *((title, meaning, True) for _, title, _, meaning in measures)]
    rows = []
    for number, row in enumerate(frame.to_dict("records"), 1):
        planned = "" if pd.isna(row["planned_rounds"]) or row["planned_rounds"] == row["rounds_done"] else f" of {row['planned_rounds']}"
        name = Cell(str(number), number, link=f"run-{number}") if numbered else Cell(row["run"], row["run"], link=f"run-{number}")
        rows.append([name, *(setting_cell(row[key]) for key in axes_shown(report)),
                     number_cell(row["seed"], str), Cell(row["status"], row["status"], status=row["status"]),
                     Cell(f"{row['rounds_done']}{planned}", row["rounds_done"]),
                     *(number_cell(row[name], write) for name, _, write, _ in measures)])
    return Table("runs", "Runs", "", heads, rows)


def interval_cell(row, name, write):
    mean, half, n = row[name], row[f"{name}_half"], row[f"{name}_n"]
    if n == 0:
        return Cell(NOTHING)
    text = write(mean) if np.isnan(half) else f"{write(mean, mean)} ± {write(half, mean)}"
    return Cell(text + ("" if n == row["finished"] else f" (n = {n})"), float(mean))


def group_table(report, frame):
    measures, named = measures_in(frame), not named_by_settings(report)
    heads = [*([("Group", "runs that differ in their seed only", False)] if named else []), *setting_heads(report),
             ("n", "finished runs, of all in the group", True), *((title, meaning, True) for _, title, _, meaning in measures)]
    rows = []
    for row in frame.to_dict("records"):
        n = f"{row['finished']}" + ("" if row["finished"] == row["runs"] else f" of {row['runs']}")
        name = [Cell(row["group"], row["group"])] if named else []
        rows.append([*name, *(setting_cell(row[key]) for key in axes_shown(report)), Cell(n, row["finished"]),
                     *(interval_cell(row, measure, write) for measure, _, write, _ in measures)])
    note = "Mean ± half the width of its 95 % interval (Student’s t) over the n finished runs of the group, which differ in their seed only."
    return Table("groups", "Over seeds", note, heads, rows)


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
    rows = [[Cell(row["run"], row["run"]), Cell(row["kind"], row["kind"]), Cell(whole(row["lost"]), row["lost"]),
             Cell(whole(row["events"]), row["events"]), Cell(whole(row["clients"]), row["clients"]),
             Cell(row["rounds"] or NOTHING, row["first"]), Cell(row["actions"] or NOTHING, row["actions"]),
             Cell(row["message"] or NOTHING, row["message"])] for row in found]
    return Table("failures", "Failures", "", heads, rows[:limit], max(0, len(rows) - limit))


def as_frame(table):
    """Texts under their titles, for the formats below."""
    return pd.DataFrame([[cell.text for cell in row] for row in table.rows], columns=[title for title, *_ in table.heads])


def to_markdown(table):
    def line(cells):
        return "| " + " | ".join(str(cell).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    marks = ["---:" if numeric else "---" for *_, numeric in table.heads]
    lines = [f"## {table.title}", *([table.note] if table.note else []), ""]
    return "\n\n".join(lines[:-1]) + "\n\n" + "\n".join(
        [line(title for title, *_ in table.heads), "|" + "|".join(marks) + "|", *(line(cell.text for cell in row) for row in table.rows)])


def to_latex(table):
    """A tabular of booktabs; `\\usepackage{booktabs}` is all it needs."""
    form = "".join("r" if numeric else "l" for *_, numeric in table.heads)
    text = as_frame(table).to_latex(index=False, escape=True, column_format=form)
    text = text.replace("±", r"$\pm$").replace("–", "--").replace("…", r"\ldots{}")
    return f"% {table.title}" + (f". {table.note}" if table.note else "") + "\n" + text
