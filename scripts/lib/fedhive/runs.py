"""Runs and sweeps from Python: fh.run, fh.open, fh.sweep, fh.validate. The program does the work; this module starts it and reads its files."""
from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from . import config_text, program, tables
from .call import Call, Config, as_changes, error_of, execute
from .errors import ConfigError, mistakes_of
from .lock import lock_holder
from .objects import as_yaml
from .watch import NewRows, OnRound, Watch

if TYPE_CHECKING:
    import pandas

PathLike = Union[str, "os.PathLike[str]"]


def run(config: Config, *, out: Optional[PathLike] = None, progress: Optional[bool] = None, overwrite: bool = False,
        data: Any = None, partition: Any = None, model: Any = None, strategy: Any = None, set: Optional[Mapping[str, Any]] = None,
        on_round: Optional[OnRound] = None, log_to: Any = None, **keys: Any) -> Run:
    """Runs an experiment until it ends, and returns it.

    config: a config file, or the same as a dict, whose relative paths are relative to the current folder.
    out: folder for the results; by default results/runs/NAME-DATE-TIME. overwrite: replaces an existing run.
    progress: None: a bar of tqdm, if it is installed, in a terminal or a notebook; True: also elsewhere; False: none.
    data: (x, y, x_test, y_test), arrays as docs/data.md describes them, or the section `data` as a dict.
    partition: for each client the numbers of its training examples, or for each training example its owner. Replaces the section data.partition.
    model: a torch.nn.Module, a file *.pt2, a model's name, or the section. strategy: a method file *.py or *.yaml, a strategy's name, or the section.
    set: changes of the config by their key paths, {"training.cohort": 5}; also as further arguments, rounds=3. None removes a key of a file.
    on_round: a function that gets each row of rounds.csv as a dict when the round has ended. Its exceptions end the run in order and are raised.
    log_to: "mlflow", "wandb", "tensorboard", a list of them, or {name: options}, as in Run.log_to. It logs each round when the round has ended.

    Raises ConfigError for a mistake in the config, the data or an argument: nothing was started. Raises RunError if the run fails. Ctrl-C ends the
    run in order and raises KeyboardInterrupt. Warnings of the program become warnings of Python.
    """
    with Call("run", config, out, data=data, partition=partition, model=model, strategy=strategy, set=set, keys=keys) as call:
        arguments = call.arguments(*(["--overwrite"] if overwrite else []))
        folder = _watched(Watch(on_round, log_to), arguments, call.out, progress, call.names, call.changes)
    return _warned(Run(folder))


def validate(config: Config, *, data: Any = None, partition: Any = None, model: Any = None, strategy: Any = None,
             set: Optional[Mapping[str, Any]] = None, **keys: Any) -> dict[str, Any]:
    """Checks a config, its data and its memory, without a run. Arguments are those of `run`.

    Returns facts of the experiment: num_parameters, num_clients, num_train, warnings, … Raises ConfigError with all mistakes.
    """
    with Call("validate", config, data=data, partition=partition, model=model, strategy=strategy, set=set, keys=keys) as call:
        ended = program.call(call.arguments("--json"))
    try:
        plan = json.loads(ended.output)
    except ValueError:
        raise error_of(ended, call.names, call.changes) from None
    if plan["mistakes"]:
        raise ConfigError(mistakes_of(plan["mistakes"], call.names, call.changes))
    return plan


def sweep(config: Config, *, out: Optional[PathLike] = None, progress: Optional[bool] = None, jobs: Optional[int] = None,
          data: Any = None, partition: Any = None, model: Any = None, strategy: Any = None, set: Optional[Mapping[str, Any]] = None,
          **keys: Any) -> Sweep:
    """Runs all experiments of a sweep until they end, and returns the sweep.

    config: a sweep file, or the same as a dict; its `base` is a path or a config as a dict. jobs: runs at a time; by default as many as cores allow.
    Other arguments are those of `run`, and change the base. Raises ConfigError and KeyboardInterrupt like `run`, and RunError if a run of the sweep failed.
    """
    with Call("sweep", config, out, data=data, partition=partition, model=model, strategy=strategy, set=set, keys=keys) as call:
        return Sweep(execute(call.arguments(*(["--jobs", str(jobs)] if jobs else [])), call.out, progress, call.names, call.changes))


def open(folder: PathLike) -> Union[Run, Sweep]:
    """Returns the run or the sweep in a folder, also while it is running. Raises FileNotFoundError if there is none."""
    folder = Path(os.path.abspath(folder))
    if (folder / "sweep.json").is_file():
        return Sweep(folder)
    if (folder / "config.yaml").is_file():
        return Run(folder)
    raise FileNotFoundError(f"{folder} is not the folder of a run or a sweep: it has no config.yaml and no sweep.json")


class _Folder:
    """The folder of a run or a sweep. Its files are read at each access."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(self, name: str) -> pandas.DataFrame:
        """Returns the table NAME.csv. Raises FileNotFoundError if the folder has none, ImportError without pandas."""
        return tables.read_table(self.folder / f"{name}.csv")

    def report(self, *options: str) -> Path:
        """Writes the report (docs/report.md), and returns report.html. options: those of `fedhive report`, "--no-figures". Raises RunError."""
        ended = program.call(["report", str(self.folder), *options])
        if ended.status != 0:
            raise error_of(ended, folder=self.folder)
        return self.folder / "report.html"


class Run(_Folder):
    """A run, finished or not. fh.run and fh.open return it. folder: its folder, a Path."""

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config, with all defaults."""
        return config_text.read((self.folder / "config.yaml").read_text(encoding="utf-8"))

    @property
    def manifest(self) -> dict[str, Any]:
        """Everything that the result depends on, and how the run ended: results/README.md."""
        return json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))

    @property
    def status(self) -> str:
        """The manifest's exit_status: "finished", "running", "interrupted by SIGINT", "failed: …". "killed" if it says "running", but no
        process holds the folder's lock."""
        if self.manifest["exit_status"] == "running" and lock_holder(self.folder) == 0 and self.manifest["exit_status"] == "running":
            return "killed"  # read again: it may have ended in between
        return self.manifest["exit_status"]

    @property
    def rounds(self) -> pandas.DataFrame:
        """A row a round: results/COLUMNS.md has the columns of all tables."""
        return self.table("rounds")

    @property
    def clients(self) -> pandas.DataFrame:
        """A row a client a round."""
        return self.table("clients")

    @property
    def partition(self) -> pandas.DataFrame:
        """A row a client: its examples of each label."""
        return self.table("partition")

    @property
    def arrivals(self) -> pandas.DataFrame:
        """A row an arrival; empty with the virtual clock."""
        return self.table("arrivals")

    @property
    def fairness(self) -> pandas.DataFrame:
        """A row an evaluated round and model, with evaluation.clients."""
        return self.table("fairness")

    @property
    def client_accuracy(self) -> pandas.DataFrame:
        """A row a client in the last evaluated round, with evaluation.clients. Other tasks: table("client_mse")."""
        return self.table("client_accuracy")

    def state_dict(self, torch: bool = False) -> dict[str, Any]:
        """Returns the final model's tensors by PyTorch's names, as NumPy arrays, or as tensors of torch.

        Raises FileNotFoundError if the run has not finished, ImportError without NumPy or torch.
        """
        file = self.folder / "model.safetensors"
        if not file.is_file():
            raise FileNotFoundError(f"{self.folder} has no model: {self.status}")
        arrays = tables.read_tensors(file)
        if not torch:
            return arrays
        from torch import from_numpy
        return {name: from_numpy(array) for name, array in arrays.items()}

    def resume(self, rounds: Optional[int] = None, *, progress: Optional[bool] = None, set: Optional[Mapping[str, Any]] = None,
               on_round: Optional[OnRound] = None, log_to: Any = None) -> Run:
        """Resumes the run, up to round `rounds` if given, and returns it. set: other keys that a resumed run may change.

        on_round and log_to get all rounds, first those before the resume. Raises like `run`.
        """
        changes = {**({} if rounds is None else {"rounds": rounds}), **as_changes(set)}
        texts = [f"{key}={as_yaml(value, key)}" for key, value in changes.items()]
        arguments = ["run", "--resume", str(self.folder), *(word for text in texts for word in ("--set", text))]
        _watched(Watch(on_round, log_to), arguments, self.folder, progress, {}, texts)
        return _warned(self)

    def log_to(self, tracker: str, **options: Any) -> str:
        """Logs the run to a tracker, and returns where: the id of a new run of MLflow or of Weights & Biases, or TensorBoard's folder.

        tracker: "mlflow" (options: experiment, name, tracking_uri, tags), "wandb" (those of wandb.init, such as project and mode="offline"),
        "tensorboard" (folder). An unfinished run is followed to its end.
        Raises ConfigError for another tracker or option, ImportError if the tracker's package is missing, and the package's exceptions.
        """
        with Watch(log_to={tracker: options}, live=False) as watch:
            watch.until_the_end(self)
        return watch.trackers[0].where

    def __repr__(self) -> str:
        try:
            status, last = self.status, self.manifest
        except FileNotFoundError:
            return f"Run({str(self.folder)!r}, no manifest)"
        if status in ("running", "killed"):  # the manifest is that of the beginning
            last = next(reversed(NewRows(self.folder).read()), {})
        metrics = [f"{key} {value:.4g}" for key, value in last.items() if key.startswith("test_") and isinstance(value, float)]
        rounds = [f"round {last['round']}"] if "round" in last else []
        return f"Run({str(self.folder)!r}, {', '.join([status, *rounds, *metrics])})"


class Sweep(_Folder):
    """A sweep. fh.sweep and fh.open return it. folder: its folder, a Path."""

    @property
    def manifest(self) -> dict[str, Any]:
        """The plan and its progress: sweep.json."""
        return json.loads((self.folder / "sweep.json").read_text(encoding="utf-8"))

    @property
    def summary(self) -> pandas.DataFrame:
        """A row a run, with the values of the varied keys: results/README.md has the columns."""
        return self.table("summary")

    @property
    def runs(self) -> dict[str, Run]:
        """The runs that have started, by name, in the order of the sweep."""
        folders = {entry["id"]: self.folder / "runs" / entry["id"] for entry in self.manifest["runs"]}
        return {name: Run(folder) for name, folder in folders.items() if (folder / "config.yaml").is_file()}

    def log_to(self, tracker: str, **options: Any) -> dict[str, str]:
        """Logs each started run as Run.log_to does, one after the other. Returns {run's name: result of Run.log_to}."""
        return {name: run.log_to(tracker, **options) for name, run in self.runs.items()}

    def resume(self, *, progress: Optional[bool] = None) -> Sweep:
        """Runs missing and failed runs, and returns the sweep. Raises like `sweep`."""
        execute(["sweep", "--resume", str(self.folder)], self.folder, progress)
        return self

    def __repr__(self) -> str:
        manifest = self.manifest
        done = sum(run["status"] == "finished" for run in manifest["runs"])
        return f"Sweep({str(self.folder)!r}, {manifest['exit_status']}, {done} of {len(manifest['runs'])} runs)"


def _watched(watch: Watch, arguments: list[str], out: Optional[Path], progress: Optional[bool], names: Mapping[str, str], changes: list[str]) -> Path:
    with watch:
        return execute(arguments, out, progress, names, changes, lambda folder: watch.begin(Run(folder)), watch.poll)


def _warned(run: Run) -> Run:
    for text in run.manifest["warnings"]:
        warnings.warn(text, stacklevel=3)
    return run
