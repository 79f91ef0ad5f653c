"""TensorBoard's event file of a run, also of the report's (scripts/report --tensorboard). tensorboardX is loaded when a file is begun."""
from datetime import datetime
from pathlib import Path
from typing import Any, Mapping

from .errors import package_error

FLUSH_S = 1  # SummaryWriter.flush() does not wait for its queue, so an event may be written only at the next timed flush
# Tag in TensorBoard, column of rounds.csv.
SCALARS = [("test/accuracy", "test_accuracy"), ("test/top5_accuracy", "test_top5_accuracy"), ("test/balanced_accuracy", "test_balanced_accuracy"),
           ("test/macro_f1", "test_macro_f1"), ("test/perplexity", "test_perplexity"), ("test/mse", "test_mse"), ("test/mae", "test_mae"),
           ("test/loss", "test_loss"), ("test/attack_success", "attack_success"), ("train/loss", "train_loss"), ("clients/accepted", "accepted"),
           ("clients/failed", "failed"), ("clients/staleness_mean", "staleness_mean"), ("privacy/epsilon", "epsilon"),
           ("privacy/clip_norm", "clip_norm"), ("bytes/down", "bytes_down"), ("bytes/up", "bytes_up"), ("time/round_s", "wall_s"),
           ("time/train_s", "train_s"), ("time/virtual_s", "virtual_s")]


def start_of(manifest: Mapping[str, Any]) -> float:
    """When the run started, in seconds since 1970; 0 where its manifest does not say."""
    try:
        return datetime.fromisoformat(manifest["started"].replace("Z", "+00:00")).timestamp()
    except (KeyError, AttributeError, ValueError):
        return 0.0


class EventFile:
    """The event file of a run, alone in its folder: those of an earlier call, which TensorBoard would show too, are gone.

    Steps are rounds, times those of the run. Raises ImportError without tensorboardX.
    """

    def __init__(self, folder: Path, started: float, settings: Mapping[str, Any], metric: str) -> None:
        """started: seconds since 1970. settings: hyperparameters. metric: the tag of what TensorBoard shows beside them."""
        try:  # not above: most runs have none, and it takes as long to import as pandas
            from tensorboardX import SummaryWriter
            from tensorboardX.summary import hparams
        except ImportError:
            raise package_error("tensorboardX", "an event file of TensorBoard") from None
        folder.mkdir(parents=True, exist_ok=True)
        for earlier in folder.glob("events.out.tfevents.*"):
            earlier.unlink()
        self._end, self._writer = started, SummaryWriter(str(folder), write_to_disk=True, flush_secs=FLUSH_S)
        for summary in hparams(dict(settings), {metric: 0.0}):
            self._writer.file_writer.add_summary(summary)

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds a row of rounds.csv; a value that is None or NaN is left out. Rows must come in their order: their seconds are summed."""
        wall_s = row.get("wall_s")
        self._end += 0.0 if wall_s is None or wall_s != wall_s else wall_s
        for tag, name in SCALARS:
            value = row.get(name)
            if value is not None and value == value:
                self._writer.add_scalar(tag, value, int(row["round"]), walltime=self._end)

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
