"""Turns a call from Python into the program's arguments, with files for Python objects; its progress; its errors."""
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import objects, program
from .errors import ConfigError, RunError, message_lines, mistake_at, mistakes_of

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_ROUND = re.compile(r"\s*(\d+) +\d+ +\d+/\d+ ")
_WORDS = [(re.compile(pattern), word) for pattern, word in (
    (r"add --overwrite", "give overwrite=True"), (r"^--(out|jobs)\b:?", r"\1:"), (r"; fedhive \w+ -h says more$", ""),
    (r"\bfedhive (?:run|sweep) --resume (\S+)", r"fh.open('\1').resume()"))]
_SWEPT = re.compile(r"\S+  (?:finished|failed|stopped)\b")
_INTERRUPTED = 130
_MOST_REASONS = 3
_LONGEST_ARGUMENT = 131072 - len("--set=")  # bytes of one argument of a program in Linux


class Call:
    """A command of the program with a config, changes, and files that fedhive wrote for it.

    Arrays, partitions and modules are stored in `inputs` beside the run, for a resume or another run; so are a sweep's configs. A run's folder has
    its config. Files for `validate` are in a temporary folder until the call ends. Configs of a refused sweep are removed.
    """

    def __init__(self, command: str, config: Config, out: Optional[str | os.PathLike[str]] = None, **given: Any) -> None:
        """Writes the files for Python objects. Raises ConfigError, and ImportError for a package that an object needs."""
        self.out = None if out is None else Path(os.path.abspath(out))
        self._scratch = tempfile.TemporaryDirectory(prefix="fedhive-")
        kept = (self.out.parent if self.out else Path("results/runs").absolute()) / "inputs"
        self._inputs = Path(self._scratch.name) if command == "validate" else kept
        self._configs = kept if command == "sweep" else Path(self._scratch.name)
        self.changes: list[str] = []
        self.names: dict[str, str] = {}
        self._written: list[Path] = []
        self._made = [folder for folder in (self._configs, *self._configs.parents) if not folder.exists()]
        self._arguments = [command]
        try:
            self._read(command, config, given)
        except BaseException as error:
            self.__exit__(type(error))
            raise

    def __enter__(self) -> Call:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None and issubclass(kind, ConfigError):
            for path in self._written:
                path.unlink(missing_ok=True)
            for folder in self._made:
                with contextlib.suppress(OSError):  # something else is there
                    folder.rmdir()
        self._scratch.cleanup()

    def _read(self, command: str, config: Config, given: dict[str, Any]) -> None:
        """Notes config and changes, in the order in which they hold: those of objects, then those that are given; sections before their keys."""
        changes = {**given.pop("keys"), **as_changes(given.pop("set"))}
        if isinstance(config, Mapping):
            config, paths = _without_paths(config) if command != "sweep" else (config, {})
            changes = {**paths, **changes}
            file = self._write_sweep(config) if command == "sweep" else self._write(config, "config")
        else:
            file = os.fspath(config) if _is_name(config) else _path(config, "config")
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
        change = f"{key}={objects.as_yaml(value, key)}"
        if len(change.encode()) >= _LONGEST_ARGUMENT:
            raise mistake_at(key, f"is {len(change.encode())} bytes long as a change; allowed: less than {_LONGEST_ARGUMENT}; put it into the config")
        self.changes.append(change)

    def _write(self, config: Mapping[str, Any], word: str) -> str:
        """Writes a config, which messages then call by `word`, and returns its path."""
        config = {"name": "run", **objects.with_absolute_paths(config)}
        return self._write_as(word, objects.as_yaml(config, word=word))

    def _write_as(self, word: str, text: str) -> str:
        there = set(self._configs.glob(f"{word}-*.yaml"))
        path = objects.write_text(self._configs, word, ".yaml", text + "\n")
        self._written += [path] if path not in there else []
        self.names[str(path)] = word
        return str(path)

    def _write_sweep(self, sweep: Mapping[str, Any]) -> str:
        if "base" not in sweep:
            raise mistake_at("base", "is missing; a sweep needs a config, a path or a dict")
        base = sweep["base"]
        base = self._write(base, "base") if isinstance(base, Mapping) else _path(base, "base")
        sweep = {"name": "sweep", **objects.with_absolute_paths_of_sweep(sweep), "base": base}
        return self._write_as("sweep", objects.as_yaml(sweep, word="sweep"))

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
        """Returns the shape of an example of the config's data, from the program's output for its smallest model."""
        sets = [f"--set={key}={objects.as_yaml(value, key)}" for key, value in found.items()]
        ended = program.call(["show-model", self._arguments[1], *sets, "--set=model={name: lr}"])
        line = re.search(r"^ +input +(\d+(?: x \d+)*)$", ended.output, re.MULTILINE)
        if line is None:
            raise mistake_at("model", "the shape of an example is not known: " + "; ".join(message_lines(ended.errors)))
        return [int(size) for size in line[1].split(" x ")]


def as_changes(given: Any) -> dict[str, Any]:
    """Returns the argument `set`, empty if it is None. Raises ConfigError if it is no dict."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    raise mistake_at("set", f"expected a dict of key paths, {{'training.cohort': 5}}; found {given!r}")


def _is_name(config: Any) -> bool:
    """Says whether this is the name of a config that comes with the program, such as quickstart or modes/async, and no file here."""
    return isinstance(config, str) and re.fullmatch(r"\w[\w/]*", config) is not None and not os.path.isfile(config)


def _path(config: Any, key: str) -> str:
    """Returns the absolute path of a config that is no dict. Raises ConfigError if it is no path either."""
    if not isinstance(config, (str, os.PathLike)):
        raise mistake_at(key, f"expected the path of a file, or a dict; found {config!r}")
    return os.path.abspath(config)


def _without_paths(config: Mapping[str, Any], section: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a config without the keys that are paths, such as "training.cohort", and those with their values, by their whole paths."""
    plain: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for key, value in config.items():
        if "." in str(key):
            paths[f"{section}{key}"] = value
        elif isinstance(value, Mapping):
            plain[key], below = _without_paths(value, f"{section}{key}.")
            paths.update(below)
        else:
            plain[key] = value
    return plain, paths


def _section(value: Any, key: str, suffixes: Sequence[str]) -> Any:
    """Returns the section of a short form: {file: …} for a file's name, {name: …} for another word."""
    if isinstance(value, os.PathLike) or (isinstance(value, str) and value.endswith(tuple(suffixes))):
        return {"file": os.path.abspath(value)}
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping):
        if any(hasattr(item, "detach") for item in value.values()):
            raise mistake_at(key, "is a state_dict; expected the module itself; first values of another model come from a file: model.init")
        return objects.with_absolute_paths(value, key)
    raise mistake_at(key, f"expected a file, a name or a section as a dict; found {type(value).__name__}")


def execute(arguments: Sequence[str], out: Optional[Path], progress: Optional[bool], names: Mapping[str, str] = {}, changes: Sequence[str] = (),
            begun: Callable[[Path], None] = lambda folder: None, done: Callable[[], None] = lambda: None) -> Path:
    """Runs `run` or `sweep`, shows its progress, and returns its folder. Raises ConfigError or RunError.

    begun: gets the folder of a run when its config and manifest are there. done: called after each round, when its rows are written.
    """
    folder = out

    def follow(line: str) -> None:
        nonlocal folder
        if line.startswith("folder "):
            folder = folder or Path(line[len("folder"):].strip()).absolute()
            begun(folder)
        elif _ROUND.match(line):
            done()
        show(line)

    with _Bar(progress) as show:
        ended = program.call(arguments, follow)
    if ended.status == 0 and folder is not None:
        return folder
    raise error_of(ended, names, changes, folder)


def error_of(ended: program.Ended, names: Mapping[str, str] = {}, changes: Sequence[str] = (), folder: Optional[Path] = None):
    """Returns ConfigError for exit status 2, else RunError, with the program's messages. Names of options become names of Python arguments."""
    lines = message_lines(ended.errors)
    if ended.status == 2 and lines:
        return ConfigError(mistakes_of([_in_python(line) for line in lines], names, changes))
    if ended.status < 0:
        lines.append(f"the program was killed by signal {-ended.status}")
    elif ended.status == _INTERRUPTED:
        lines.append("the program was interrupted")
    lines = lines or [ended.output.strip() or f"the program ended with {ended.status}"]
    return RunError("\n".join([_in_python(line) for line in lines] + _failed_runs(folder)), folder)


def _in_python(line: str) -> str:
    for found, word in _WORDS:
        line = found.sub(word, line)
    return line


def _failed_runs(folder: Optional[Path]) -> list[str]:
    """Returns the reasons of the first runs of a sweep that have failed."""
    if folder is None or not (folder / "sweep.json").is_file():
        return []
    runs = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))["runs"]
    return [f"{run['id']}: {run['reason'].removeprefix('fedhive: ')}" for run in runs if run["status"] == "failed"][:_MOST_REASONS]


class _Bar:
    """A bar of tqdm that counts rounds, or runs of a sweep, from the program's output. Without tqdm it shows nothing.

    progress: None: if standard error is a terminal, or in a notebook; True: always; False: never. In a notebook it is a widget, or a line of text
    without ipywidgets.
    """

    def __init__(self, progress: Optional[bool]) -> None:
        self._bar: Any = None
        self._tqdm: Optional[Callable[..., Any]] = None
        in_notebook = _is_notebook()
        self._hidden = False if progress or in_notebook else None  # None: tqdm looks whether there is a terminal
        if progress is not False:
            try:
                if in_notebook and importlib.util.find_spec("ipywidgets"):
                    from tqdm.notebook import tqdm
                else:
                    from tqdm import tqdm
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


def _is_notebook() -> bool:
    """Says whether this Python is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config
