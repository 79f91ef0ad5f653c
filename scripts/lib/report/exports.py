"""The runs for other programs: event files for TensorBoard, Parquet files for everything that reads tables."""
import pandas as pd

from fedhive.event_file import SCALARS, EventFile, start_of
from report.figures.groups import column

def setting_value(text):
    try:
        return float(text)
    except ValueError:
        return text


def event_file(run, folder):
    """The event file of a run, with its varied keys as hyperparameters."""
    settings = {**{key: setting_value(text) for key, text in run.settings.items()}, "seed": run.seed or 0}
    return EventFile(folder, start_of(run.manifest), settings, f"test/{run.metric.name}")


def add_rounds(events, rounds, begin=0):
    """The rows of rounds.csv from `begin` on."""
    names = ["round", "wall_s", *(name for _, name in SCALARS)]
    for values in list(zip(*(column(rounds, name) for name in names)))[begin:]:
        events.add(dict(zip(names, values)))
    events.flush()


def tensorboard(report, folder):
    """One log folder a run, by its label: `tensorboard --logdir FOLDER`. Steps are rounds, times those of the run."""
    for run in report.runs:
        if len(run.rounds):
            events = event_file(run, folder / run.label)
            add_rounds(events, run.rounds)
            events.close()


def typed(frame, keys):
    """Settings are texts; those that are numbers in every run become numbers."""
    for key in keys:
        texts = frame[key].replace("", None)
        numbers = pd.to_numeric(texts, errors="coerce")
        frame[key] = numbers if (numbers.notna() == texts.notna()).all() else texts.astype("string")
    return frame


def long_form(report, name):
    """All rows of one kind of table, each with its run, group, seed, status and settings: one row an observation."""
    parts = []
    for run in report.runs:
        table = getattr(run, name)
        if len(table):
            known = {"run": run.label, "group": run.group, "seed": run.seed, **run.seeds, "status": run.status, **run.settings}
            parts.append(pd.concat([pd.DataFrame(known, index=table.index), table], axis=1))
    return typed(pd.concat(parts, ignore_index=True), report.axes) if parts else None


def parquet(report, summary, folder):
    """rounds.parquet, clients.parquet and summary.parquet; a table without a row is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = {"rounds": long_form(report, "rounds"), "clients": long_form(report, "clients"),
              "summary": typed(summary.copy(), report.axes)}
    for name, frame in frames.items():
        if frame is not None:
            frame.to_parquet(folder / f"{name}.parquet", index=False)
