"""Follows the rounds of a run, while it goes on or afterwards: hands each row of rounds.csv to a function and to trackers."""
from __future__ import annotations

import csv
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import tables, trackers
from .errors import mistake_at

if TYPE_CHECKING:
    from .runs import Run

OnRound = Callable[[dict[str, Any]], Any]
_EVERY_S = 1.0


class NewRows:
    """The rows of a run's rounds.csv that were not yet read, each a dict: numbers as int or float, an empty cell as None."""

    def __init__(self, folder: Path) -> None:
        self._file, self._at, self._columns, self._last = folder / "rounds.csv", 0, [], 0

    def read(self) -> list[dict[str, Any]]:
        """Returns whole lines that are new. Rounds that a resume has taken back and done again are not returned twice."""
        try:
            with self._file.open("rb") as file:
                if file.seek(0, 2) < self._at:
                    self._at, self._columns = 0, []
                file.seek(self._at)
                text = file.read()
        except FileNotFoundError:
            return []
        text = text[:text.rfind(b"\n") + 1]
        self._at += len(text)
        lines = list(csv.reader(text.decode().splitlines()))
        if lines and not self._columns:
            self._columns = lines.pop(0)
        rows = [{name: tables.value_of(name, cell) for name, cell in zip(self._columns, line)} for line in lines]
        rows = [row for row in rows if row["round"] > self._last]
        self._last = rows[-1]["round"] if rows else self._last
        return rows


class Watch:
    """The receivers of a run's rounds, from `begin` to the end of the `with` block.

    on_round: gets each row; its exceptions pass to the caller. log_to: trackers. During a run (`live`), an exception of a tracker that has started
    becomes a warning, and that tracker gets nothing more.
    """

    def __init__(self, on_round: Optional[OnRound] = None, log_to: Any = None, live: bool = True) -> None:
        """Raises as trackers.chosen, and ConfigError if on_round is no function."""
        if on_round is not None and not callable(on_round):
            raise mistake_at("on_round", f"expected a function; found {on_round!r}")
        self._on_round, self._chosen, self._live = on_round, trackers.chosen(log_to), live
        self._run: Optional[Run] = None
        self._rows: Optional[NewRows] = None
        self.trackers: list[Any] = []

    def begin(self, run: Run) -> None:
        """Call when the folder has config and manifest. Does nothing the second time."""
        if self._run is None and (self._on_round or self._chosen):
            self._run, self._rows = run, NewRows(run.folder)
            for tracker, options in self._chosen:
                self.trackers.append(tracker(run, **options))

    def poll(self) -> None:
        """Passes on new rows."""
        rows = self._rows.read() if self._rows else []
        if rows:
            for tracker in list(self.trackers):
                self._told(tracker, lambda: tracker.add(rows))
        for row in rows if self._on_round else []:
            self._on_round(row)

    def _told(self, tracker: Any, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception as error:  # a tracker's package may raise any
            if not self._live:
                raise
            self.trackers.remove(tracker)
            warnings.warn(f"{type(tracker).__name__} does not get this run any more: {type(error).__name__}: {error}; "
                          f"afterwards: fh.open({str(self._run.folder)!r}).log_to(…)", stacklevel=2)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self._on_round = None
        self.poll()
        for tracker in list(self.trackers):
            self._told(tracker, lambda: tracker.close(self._run.status))

    def until_the_end(self, run: Run) -> None:
        """Follows a run that another process may be writing until it ends."""
        self.begin(run)
        while run.status == "running":
            self.poll()
            time.sleep(_EVERY_S)
