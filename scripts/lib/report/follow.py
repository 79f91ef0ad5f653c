"""TensorBoard's event files of runs that are under way: each row of rounds.csv as it comes."""
import json
import time

from fedhive.lock import lock_holder
from report.exports import add_rounds, event_file
from report.files import FileProblem, read_text
from report.load import load
from report.run import ROUNDS_COLUMNS, read_run, read_table

EVERY_S = 1.0


def is_going_on(folder):
    """Whether a process holds the lock of a run or a sweep; if the system cannot tell, whether its file says that it runs."""
    holder = lock_holder(folder)
    if holder is not None:
        return holder != 0
    for name in ("sweep.json", "manifest.json"):
        try:
            return json.loads(read_text(folder / name)).get("exit_status") == "running"
        except (FileNotFoundError, FileProblem, ValueError, AttributeError):
            continue
    return False


class Followed:
    """One run, and the rows of it that are written."""

    def __init__(self, run, folder):
        self.path, self.run, self.folder = run.path, run, folder
        self.events, self.stamp, self.rows = None, None, []

    def poll(self):
        try:
            status = (self.path / "rounds.csv").stat()
        except OSError:
            return
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == self.stamp:
            return
        self.stamp = stamp
        table = read_table(self.path / "rounds.csv", ROUNDS_COLUMNS, [])
        if "round" not in table.columns or table.empty:
            return
        table = table.drop_duplicates("round", keep="last")
        rows = [tuple(map(str, row)) for row in table.itertuples(index=False)]
        if self.events is None or rows[:len(self.rows)] != self.rows:  # rounds that a resume took back are written anew
            self.begin(table)
        add_rounds(self.events, table, len(self.rows))
        self.rows = rows

    def begin(self, table):
        self.close()
        settings, label = self.run.settings, self.run.label
        run = read_run(self.path, label)
        run.settings, run.rounds = settings, table
        self.events, self.rows = event_file(run, self.folder), []

    def close(self):
        if self.events is not None:
            self.events.close()


def follow(folders, out, every_s=EVERY_S):
    """Writes until nothing in the folders is under way; whatever is there is written in any case."""
    report = load(folders)
    followed = [Followed(run, out / run.label) for run in report.runs]
    print(f"following {len(followed)} run{'' if len(followed) == 1 else 's'} until the end or Ctrl-C: tensorboard --logdir {out}", flush=True)
    try:
        going_on = True
        while going_on:
            going_on = any(map(is_going_on, folders))  # before the rows are read: those of the last round are there
            for one in followed:
                one.poll()
            if going_on:
                time.sleep(every_s)
    finally:
        for one in followed:
            one.close()
