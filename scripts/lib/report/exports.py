"""The runs for other programs: event files for TensorBoard, Parquet files for everything that reads tables."""
from datetime import datetime

import numpy as np
import pandas as pd

from report.figures.groups import column, final_value

FLUSH_S = 1  # SummaryWriter.flush() does not wait for its queue, so an event may be written only at the next timed flush
# Tag in TensorBoard, column of rounds.csv.
SCALARS = [("test/accuracy", "test_accuracy"), ("test/top5_accuracy", "test_top5_accuracy"),
           ("test/perplexity", "test_perplexity"), ("test/mse", "test_mse"), ("test/mae", "test_mae"), ("test/loss", "test_loss"), ("train/loss", "train_loss"), ("clients/accepted", "accepted"),
           ("clients/failed", "failed"), ("clients/staleness_mean", "staleness_mean"), ("bytes/down", "bytes_down"), ("bytes/up", "bytes_up"),
           ("time/round_s", "wall_s"), ("time/train_s", "train_s"), ("time/virtual_s", "virtual_s")]


def start_of(run):
    """When the run started, in seconds since 1970; 0 where it does not say."""
    try:
        return datetime.fromisoformat(run.manifest["started"].replace("Z", "+00:00")).timestamp()
    except (KeyError, AttributeError, ValueError):
        return 0.0


def setting_value(text):
    try:
        return float(text)
    except ValueError:
        return text


class EventFile:
    """The event file of a run, alone in its folder: those of an earlier report, which TensorBoard would show too, are gone."""

    def __init__(self, run, folder):
        # Not above: most reports write none, and it takes as long to import as pandas.
        from tensorboardX import SummaryWriter
        from tensorboardX.summary import hparams

        folder.mkdir(parents=True, exist_ok=True)
        for earlier in folder.glob("events.out.tfevents.*"):
            earlier.unlink()
        self.started, self.writer = start_of(run), SummaryWriter(str(folder), write_to_disk=True, flush_secs=FLUSH_S)
        settings = {**{key: setting_value(text) for key, text in run.settings.items()}, "seed": run.seed or 0}
        for summary in hparams(settings, {f"test/{run.metric.name}": final_value(run)}):
            self.writer.file_writer.add_summary(summary)

    def add(self, rounds, begin=0):
        """The rows of rounds.csv from `begin` on."""
        ends = self.started + np.nancumsum(column(rounds, "wall_s"))
        for tag, name in SCALARS:
            for number, value, end in list(zip(rounds["round"], column(rounds, name), ends))[begin:]:
                if not np.isnan(value):
                    self.writer.add_scalar(tag, value, int(number), walltime=end)
        self.writer.flush()

    def close(self):
        self.writer.close()


def tensorboard(report, folder):
    """One log folder a run, by its label: `tensorboard --logdir FOLDER`. Steps are rounds, times those of the run."""
    for run in report.runs:
        if len(run.rounds):
            events = EventFile(run, folder / run.label)
            events.add(run.rounds)
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
