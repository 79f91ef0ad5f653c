"""What a call from Python becomes: the program's arguments, with the files that stand for objects; its progress; its errors."""
from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import objects, program
from .errors import ConfigError, RunError, message_lines, mistake_at, mistakes_of

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_ROUND = re.compile(r"\s*(\d+) +\d+ +\d+/\d+ ")
_SWEPT = re.compile(r"\S+  (?:finished|failed|stopped)\b")
_INTERRUPTED = 130


class Call:
    """A command of the program with a config, changes, and files that fedhive wrote for it.

    Arrays, partitions and modules lie in `inputs` beside the run, for a resume or another run; so do a sweep's configs. A run's folder has the config
    itself, and nobody comes back to what `validate` read: those files lie in a temporary folder until the call ends.
    """

    def __init__(self, command: str, config: Config, out: Optional[str | os.PathLike[str]] = None, **given: Any) -> None:
        """Writes what is given as objects. Raises ConfigError, and ImportError for a package that an object needs."""
        self.out = None if out is None else Path(os.path.abspath(out))
        self._scratch = tempfile.TemporaryDirectory(prefix="fedhive-")
        kept = (self.out.parent if self.out else Path("results/runs").absolute()) / "inputs"
        self._inputs = Path(self._scratch.name) if command == "validate" else kept
        self._configs = kept if command == "sweep" else Path(self._scratch.name)
        self.changes: list[str] = []
        self.names: dict[str, str] = {}
        self._arguments = [command]
        try:
            self._read(command, config, given)
        except BaseException:
            self._scratch.cleanup()
            raise

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_: Any) -> None:
        self._scratch.cleanup()

    def _read(self, command: str, config: Config, given: dict[str, Any]) -> None:
        """Notes config and changes, in the order in which they hold: those of objects, then those that are given; sections before their keys."""
        changes = {**given.pop("keys"), **(given.pop("set") or {})}
        if isinstance(config, Mapping):
            changes = {**{key: value for key, value in config.items() if "." in str(key)}, **changes}
            config = {key: value for key, value in config.items() if "." not in str(key)}
            file = self._write_sweep(config) if command == "sweep" else self._write(config, "config")
        else:
            file = os.path.abspath(config)
        self._arguments.append(file)
        for key, value in self._objects(given).items():
            self._change(key, value)
        for key in sorted(changes, key=lambda key: key.count(".")):
            self._change(key, changes[key])

    def arguments(self, *options: str) -> list[str]:
        """Returns the program's arguments."""
        sets = [word for change in self.changes for word in ("--set", change)]
        return [*self._arguments, *sets, *(["--out", str(self.out)] if self.out else []), *options]

    def _change(self, key: str, value: Any) -> None:
        self.changes.append(f"{key}={objects.as_yaml(value, key)}")

    def _write(self, config: Mapping[str, Any], word: str) -> str:
        """Writes a config, which messages then call by `word`, and returns its path."""
        config = {"name": "run", **objects.with_absolute_paths(config)}
        path = str(objects.write_text(self._configs, word, ".yaml", objects.as_yaml(config, word) + "\n"))
        self.names[path] = word
        return path

    def _write_sweep(self, sweep: Mapping[str, Any]) -> str:
        if "base" not in sweep:
            raise mistake_at("base", "is missing; a sweep needs a config, a path or a dict")
        base = sweep["base"]
        base = self._write(base, "base") if isinstance(base, Mapping) else os.path.abspath(base)
        sweep = {"name": "sweep", **objects.with_absolute_paths_of_sweep(sweep), "base": base}
        path = str(objects.write_text(self._configs, "sweep", ".yaml", objects.as_yaml(sweep, "sweep") + "\n"))
        self.names[path] = "sweep"
        return path

    def _objects(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Writes arrays, a partition and a module, and returns the changes that name their files, and those of the short forms."""
        data, partition, model, strategy = (given.get(name) for name in ("data", "partition", "model", "strategy"))
        found: dict[str, Any] = {}
        shape: Optional[Sequence[int]] = None
        num_examples, tokens = None, False
        if isinstance(data, Mapping):
            found["data"] = data
        elif data is not None:
            arrays = objects.arrays_of(data)
            x = arrays["x"]
            shape, num_examples, tokens = x.shape[1:], len(x), x.dtype.kind in "iu" and x.dtype.itemsize > 1
            train, test = (str(path) for path in objects.write_data(arrays, self._inputs))
            found.update({"data.format": "npz", "data.train": train, "data.test": test})
            if tokens:
                found["data.values"] = "tokens"
            self.names.update({train: "", test: ""})
        if partition is not None:
            path = objects.write_partition(partition, num_examples, self._inputs)
            found["data.partition"] = {"scheme": "from_file", "file": path}
            self.names[str(path)] = ""
        if strategy is not None:
            found["strategy"] = _section(strategy, "strategy", (".py", ".yaml"))
        if hasattr(model, "state_dict"):
            path = objects.write_model(model, shape or self._shape(found), tokens, self._inputs)
            found["model"] = {"file": path}
            self.names[str(path)] = ""
        elif model is not None:
            found["model"] = _section(model, "model", (".pt2",))
        return found

    def _shape(self, found: Mapping[str, Any]) -> list[int]:
        """Returns the shape of an example of the config's data, as the program tells it for its smallest model."""
        sets = [f"--set={key}={objects.as_yaml(value, key)}" for key, value in found.items()]
        ended = program.call(["show-model", self._arguments[1], *sets, "--set=model={name: lr}"])
        line = re.search(r"^ +input +(\d+(?: x \d+)*)$", ended.output, re.MULTILINE)
        if line is None:
            raise mistake_at("model", "the shape of an example is not known: " + "; ".join(message_lines(ended.errors)))
        return [int(size) for size in line[1].split(" x ")]


def _section(value: Any, key: str, suffixes: Sequence[str]) -> Any:
    """Returns the section that a short form stands for: {file: …} for a file's name, {name: …} for another word."""
    if isinstance(value, os.PathLike) or (isinstance(value, str) and value.endswith(tuple(suffixes))):
        return {"file": os.path.abspath(value)}
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping):
        return objects.with_absolute_paths(value, key)
    raise mistake_at(key, f"expected a file, a name or a section as a dict; found a {type(value).__name__}")


def execute(arguments: Sequence[str], out: Optional[Path], progress: Optional[bool], names: Mapping[str, str] = {},
            changes: Sequence[str] = ()) -> Path:
    """Runs `run` or `sweep`, shows its progress, and returns its folder. Raises ConfigError or RunError."""
    folder = out

    def follow(line: str) -> None:
        nonlocal folder
        if folder is None and line.startswith("folder "):
            folder = Path(line[len("folder"):].strip()).absolute()
        show(line)

    with _Bar(progress) as show:
        ended = program.call(arguments, follow)
    if ended.status == 0 and folder is not None:
        return folder
    raise error_of(ended, names, changes, folder)


def error_of(ended: program.Ended, names: Mapping[str, str] = {}, changes: Sequence[str] = (), folder: Optional[Path] = None):
    """Returns ConfigError for exit status 2, else RunError, with the program's messages."""
    lines = [line.replace("add --overwrite", "give overwrite=True") for line in message_lines(ended.errors)]
    if ended.status == 2 and lines:
        return ConfigError(mistakes_of(lines, names, changes))
    if ended.status < 0:
        lines.append(f"the program was killed by signal {-ended.status}")
    elif ended.status == _INTERRUPTED:
        lines.append("the program was interrupted")
    return RunError(mistakes_of(lines or [ended.output.strip() or f"the program ended with {ended.status}"], names, changes), folder)


class _Bar:
    """A bar of tqdm that counts rounds, or runs of a sweep, from what the program prints. Without tqdm it shows nothing.

    progress: None: if standard error is a terminal, or in a notebook; True: always; False: never.
    """

    def __init__(self, progress: Optional[bool]) -> None:
        self._bar: Any = None
        self._tqdm: Optional[Callable[..., Any]] = None
        self._hidden = None if progress is None else not progress
        if progress is not False:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._tqdm = tqdm

    def __enter__(self) -> Callable[[str], None]:
        return self._show

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, line: str) -> None:
        if self._tqdm is None:
            return
        total = re.match(r"(run|sweep) .* (\d+) (round|run)s?\b", line)
        if self._bar is None and total:
            self._bar = self._tqdm(total=int(total[2]), unit=total[3], desc=line.split()[1], disable=self._hidden)
        if self._bar is None:
            return
        done = _ROUND.match(line)
        if done:
            self._bar.update(int(done[1]) - self._bar.n)
        elif _SWEPT.match(line):
            self._bar.update(1)
