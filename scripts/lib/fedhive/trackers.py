"""Trackers for the rounds of a run: MLflow, Weights & Biases, TensorBoard. Each is a separate package, loaded when it is named.

A tracker gets the run when it begins, rows of rounds.csv in their order, and the last manifest. Metrics have the names of the columns of rounds.csv.
"""
from __future__ import annotations

import datetime
import importlib
import inspect
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence

from .errors import mistake_at, package_error
from .event_file import EventFile, start_of

if TYPE_CHECKING:
    from .runs import Run

Row = Mapping[str, Any]
_FACTS = ("fedhive", "commit", "libtorch", "device", "engine", "seed", "num_clients", "num_parameters", "layout_fingerprint", "data_fingerprint",
          "partition_fingerprint")
_FILES = ("config.yaml", "manifest.json", "method.yaml", "method.py", "events.jsonl")
_INTERRUPTED = 130


def facts_of(run: Run) -> dict[str, str]:
    """Everything that a result depends on beside its config, by the manifest's keys, and the run's folder. The program's version is `version`."""
    manifest = run.manifest
    return {**{"version" if key == "fedhive" else key: str(manifest[key]) for key in _FACTS if key in manifest}, "folder": str(run.folder)}


def files_of(run: Run) -> list[Path]:
    """The files that are kept beside the metrics: tables, config, manifest, method, events. Not the model and no checkpoint."""
    return sorted(run.folder.glob("*.csv")) + [run.folder / name for name in _FILES if (run.folder / name).is_file()]


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the keys of a config by their paths; a list is one value, as JSON."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, json.dumps(value) if isinstance(value, list) else value


def numbers_of(row: Row) -> dict[str, Any]:
    """The numbers of a row by their columns, without its round and without empty cells."""
    return {name: value for name, value in row.items() if name != "round" and isinstance(value, (int, float))}


class MLflow:
    """A run of MLflow: config as parameters, columns as metrics at the times of their rounds, facts as tags, files as artifacts."""
    package = "mlflow"
    _MOST = 100  # parameters of a request; metrics may be ten times as many
    _LONGEST = 500  # characters of a parameter's value that every version takes

    def __init__(self, run: Run, experiment: str = "fedhive", name: Optional[str] = None, tracking_uri: Optional[str] = None,
                 tags: Optional[Mapping[str, Any]] = None) -> None:
        """experiment: made if it is not there. name: the run's folder. tracking_uri: MLflow's own default. tags: further ones."""
        from mlflow import entities
        from mlflow.tracking import MlflowClient

        self._entities, self._client, self._end = entities, MlflowClient(tracking_uri), start_of(run.manifest)
        there = self._client.get_experiment_by_name(experiment)
        number = there.experiment_id if there else self._client.create_experiment(experiment)
        facts = {f"fedhive.{key}": value for key, value in facts_of(run).items()}
        begun = self._client.create_run(number, start_time=round(1000 * self._end), run_name=name or run.folder.name,
                                        tags={**facts, **{key: str(value) for key, value in (tags or {}).items()}})
        self._run, self.where = run, begun.info.run_id
        parameters = [entities.Param(key, str(value)[:self._LONGEST]) for key, value in flat(run.config)]
        for first in range(0, len(parameters), self._MOST):
            self._client.log_batch(self.where, params=parameters[first:first + self._MOST])

    def add(self, rows: Sequence[Row]) -> None:
        metrics = []
        for row in rows:
            self._end += row.get("wall_s") or 0.0
            metrics += [self._entities.Metric(name, value, round(1000 * self._end), row["round"]) for name, value in numbers_of(row).items()]
        for first in range(0, len(metrics), 10 * self._MOST):
            self._client.log_batch(self.where, metrics=metrics[first:first + 10 * self._MOST])

    def close(self, status: str) -> None:
        for file in files_of(self._run):
            self._client.log_artifact(self.where, str(file))
        manifest = self._run.manifest
        for key in "exit_status", "model_sha256":
            if key in manifest:
                self._client.set_tag(self.where, f"fedhive.{key}", manifest[key])
        ends = {"finished": "FINISHED", "paused": "FINISHED", "interrupted": "KILLED", "killed": "KILLED"}
        self._client.set_terminated(self.where, ends.get(status.split()[0], "FAILED"), end_time=max(round(1000 * self._end), _ended_ms(manifest)))


class Wandb:
    """A run of Weights & Biases: config with facts, columns as metrics by round, files as an artifact."""
    package = "wandb"

    def __init__(self, run: Run, **options: Any) -> None:
        """options: those of wandb.init, before project="fedhive", name (the folder's), config and reinit="create_new"."""
        import wandb

        self._wandb, self._run = wandb, run
        own = {"project": "fedhive", "name": run.folder.name, "reinit": "create_new"}
        self._begun = wandb.init(**{**own, **options, "config": {**run.config, "fedhive": facts_of(run), **(options.get("config") or {})}})
        self.where = self._begun.id

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._begun.log(numbers_of(row), step=row["round"])

    def close(self, status: str) -> None:
        manifest = self._run.manifest
        self._begun.summary.update({key: manifest[key] for key in ("exit_status", "model_sha256") if key in manifest})
        files = self._wandb.Artifact(f"run-{self.where}", type="fedhive")
        for file in files_of(self._run):
            files.add_file(str(file))
        self._begun.log_artifact(files)
        self._begun.finish(exit_code={"finished": 0, "paused": 0, "interrupted": _INTERRUPTED}.get(status.split()[0], 1))


class TensorBoard:
    """An event file: columns that have a tag in event_file.py as scalars by round, config as hyperparameters."""
    package = "tensorboardX"

    def __init__(self, run: Run, folder: Optional[str | os.PathLike[str]] = None) -> None:
        """folder: gets a folder of the run's name; by default `tensorboard` in the run's folder. Event files there are replaced."""
        place = Path(os.path.abspath(folder if folder is not None else run.folder / "tensorboard")) / run.folder.name
        metric = "test/mse" if run.config["task"] == "regression" else "test/accuracy"
        settings = {key: value if isinstance(value, (bool, int, float)) else str(value) for key, value in flat(run.config)}
        self._file, self.where = EventFile(place, start_of(run.manifest), settings, metric), str(place)

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._file.add(row)
        self._file.flush()

    def close(self, status: str) -> None:
        self._file.close()


_TRACKERS = {"mlflow": MLflow, "wandb": Wandb, "tensorboard": TensorBoard}


def chosen(log_to: Any) -> list[tuple[type, dict[str, Any]]]:
    """Returns the trackers that `log_to` names, and their options: a name, a list of names, or {name: options}.

    Raises ConfigError for another name or option, ImportError if the package of a tracker is missing.
    """
    if not isinstance(log_to, (str, Mapping, list, tuple, type(None))):
        raise mistake_at("log_to", f"expected a name, a list of names or {{name: options}}; found a {type(log_to).__name__}")
    named = log_to if isinstance(log_to, Mapping) else dict.fromkeys([log_to] if isinstance(log_to, str) else log_to or (), {})
    found = []
    for name, options in named.items():
        if name not in _TRACKERS:
            raise mistake_at("log_to", f"there is no tracker {name!r}; allowed: {', '.join(_TRACKERS)}")
        if not isinstance(options, Mapping):
            raise mistake_at(f"log_to.{name}", f"expected options as a dict; found a {type(options).__name__}")
        tracker = _TRACKERS[name]
        try:
            inspect.signature(tracker).bind(None, **options)
        except TypeError as error:
            allowed = ", ".join(list(inspect.signature(tracker).parameters)[1:])
            raise mistake_at(f"log_to.{name}", f"{error}; allowed: {allowed}") from None
        try:
            importlib.import_module(tracker.package)
        except ImportError:
            raise package_error(tracker.package, f"log_to {name}") from None
        found.append((tracker, dict(options)))
    return found


def _ended_ms(manifest: Mapping[str, Any]) -> int:
    """When the run ended, in milliseconds since 1970; 0 if its manifest does not say."""
    try:
        return round(1000 * datetime.datetime.fromisoformat(manifest["finished"].replace("Z", "+00:00")).timestamp())
    except (KeyError, ValueError):
        return 0
