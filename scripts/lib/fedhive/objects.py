"""Writes Python objects (a config, arrays, a partition, a module of PyTorch) as files for the program.

Files are stored in the folder `inputs` beside the run's folder, under names with a hash of their content. So equal arrays are written once, and each
run can be repeated from its config.yaml without Python.
"""
from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import shutil
import tempfile
import traceback
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence

from .errors import ConfigError, Mistake, mistake_at, package_error

# The keys of a config that are paths; a test compares with `fedhive reference`.
PATHS = {"arrivals", "data.root", "data.train", "data.test", "data.partition.file", "model.file", "model.init", "strategy.file", "strategy.rule",
         "strategy.visit", "devices.trace", "devices.availability.trace"}
_ARRAYS = ("x", "y", "x_test", "y_test")


def as_yaml(value: Any, key: str = "", word: str = "") -> str:
    """Returns a value as JSON, which is YAML. NumPy's numbers and arrays become numbers and lists, paths texts.

    Raises ConfigError for others, with their path below `key`; word: the file's name in messages.
    """
    return json.dumps(_plain(value, key, word), ensure_ascii=False)


def _plain(value: Any, key: str, word: str) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(item, f"{key}.{name}" if key else str(name), word) for name, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, f"{key}[{index}]", word) for index, item in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), key, word)
    text = f"{key}: {type(value).__name__}: no such value can stand in a config; allowed: texts, numbers, lists, dicts, paths, None"
    raise ConfigError([Mistake(f"{word}: {text}" if word else text, word or None, key=key)])


def with_absolute_paths(node: Any, key: str = "") -> Any:
    """Returns a copy of a config, or of a section `key`, in which paths are absolute, because it is written to a file in another folder."""
    if isinstance(node, Mapping):
        return {name: with_absolute_paths(value, f"{key}.{name}" if key else str(name)) for name, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [with_absolute_paths(item, key) for item in node]
    if key in PATHS and isinstance(node, (str, os.PathLike)):
        return os.path.abspath(node)
    return node


def with_absolute_paths_of_sweep(sweep: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a sweep: `set`, blocks and draws hold keys of a config. `base` stays as it is."""
    drawn = sweep.get("random", {}).get("draw", {}) if isinstance(sweep.get("random"), Mapping) else {}
    found = {name: with_absolute_paths(value) if name in ("set", "grid", "zip", "cases") else value for name, value in sweep.items()}
    if isinstance(drawn, Mapping) and drawn:
        found["random"] = {**sweep["random"], "draw": {
            key: {kind: with_absolute_paths(value, key) for kind, value in how.items()} if isinstance(how, Mapping) else how
            for key, how in drawn.items()}}
    return found


def write_text(folder: Path, name: str, suffix: str, text: str) -> Path:
    """Writes a text into the folder, under its name and a hash, unless it is there. Returns the file's absolute path."""
    path = folder.absolute() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}{suffix}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    return path


def arrays_of(data: Sequence[Any]) -> dict[str, Any]:
    """Returns x, y, x_test and y_test as arrays that the program reads: in C order, of the machine's byte order, without objects.

    Raises ConfigError for other arrays, other lengths, labels from 1; ImportError without NumPy. The program checks values (NaN).
    """
    numpy = _numpy("data")
    if not isinstance(data, (tuple, list)) or len(data) != len(_ARRAYS):
        found = f"{type(data).__name__} of {len(data)}" if isinstance(data, (tuple, list)) else type(data).__name__
        raise mistake_at("data", f"expected (x, y, x_test, y_test), or a section as a dict; found {found}")
    arrays = {name: _array(numpy, name, value) for name, value in zip(_ARRAYS, data)}
    for x, y in (("x", "y"), ("x_test", "y_test")):
        if arrays[x].ndim < 2:
            raise mistake_at("data", f"{x} has the shape {arrays[x].shape}; expected (examples, …)")
        if arrays[y].ndim < 1 or len(arrays[x]) != len(arrays[y]):
            raise mistake_at("data", f"{x} has {len(arrays[x])} examples, but {y} has the shape {arrays[y].shape}")
    if arrays["x"].shape[1:] != arrays["x_test"].shape[1:]:
        raise mistake_at("data", f"an example of x has the shape {arrays['x'].shape[1:]}, one of x_test {arrays['x_test'].shape[1:]}")
    _check_labels(numpy, arrays)
    return arrays


def _array(numpy, name: str, value: Any):
    try:
        array = numpy.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of different length; a tensor on a GPU
        raise mistake_at("data", f"{name} is no array: {error}") from None
    if array.dtype.kind not in "biuf":
        what = {"O": "objects, such as rows of different length", "U": "texts", "S": "texts"}.get(array.dtype.kind, str(array.dtype))
        raise mistake_at("data", f"{name} is an array of {what}; expected numbers" + (
            f"; fix: numpy.unique({name}, return_inverse=True)[1]" if what == "texts" else ""))
    if array.dtype.kind == "b":
        array = array.astype("int64" if name.startswith("y") else "float32")
    return numpy.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def _check_labels(numpy, arrays: Mapping[str, Any]) -> None:
    """Refuses classes that are numbered from 1: the program would count a class 0 without an example. Tokens may lack number 0."""
    y = arrays["y"]
    if y.dtype.kind == "f" or y.ndim != 1 or (arrays["x"].dtype.kind in "iu" and arrays["x"].dtype != numpy.uint8):
        return
    labels = numpy.concatenate([y, arrays["y_test"].astype(y.dtype).reshape(-1)])
    labels = labels[labels != -100]
    if labels.size and labels.min() == 1:
        raise mistake_at("data", f"the labels in y are 1 to {labels.max()}; expected classes from 0; fix: y - 1 and y_test - 1")


def write_data(arrays: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Writes the arrays as two archives, in the form of docs/data.md. Returns the files of the training and of the test examples."""
    numpy = _numpy("data")
    digest = hashlib.sha256()
    for array in arrays.values():
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.reshape(-1).view("uint8").data if array.size else b"")
    place = folder.absolute() / f"data-{digest.hexdigest()[:16]}"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder, suffix=".part"))
        try:
            numpy.savez(part / "train.npz", x=arrays["x"], y=arrays["y"])
            numpy.savez(part / "test.npz", x=arrays["x_test"], y=arrays["y_test"])
            os.chmod(part, 0o755)
            os.rename(part, place)
        except OSError:
            if not place.exists():  # else another process has just written it
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return place / "train.npz", place / "test.npz"


def write_partition(partition: Any, num_examples: Optional[int], folder: Path) -> Path:
    """Writes the partition as the file of scheme from_file, and returns it.

    partition: for each client the numbers of its examples, or for each example its owner, a text or an integer; client k is then
    numpy.unique(owners)[k]. num_examples: the number of training examples, if known. Raises ConfigError for unknown numbers, examples of two clients,
    clients without examples; ImportError without NumPy.
    """
    numpy = _numpy("partition")
    shares = _shares(numpy, partition, num_examples)
    owner_of: dict[int, int] = {}
    for client, share in enumerate(shares):
        indices = numpy.asarray(share)
        where = f"client {client}"
        if indices.size == 0:
            raise mistake_at("partition", f"{where} has no example")
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise mistake_at("partition", f"{where} has {indices.dtype} of the shape {indices.shape}; expected a list of integers" + (
                "; fix: numpy.flatnonzero of the mask" if indices.dtype.kind == "b" else ""))
        for index in indices.tolist():
            if index < 0 or (num_examples is not None and index >= num_examples):
                raise mistake_at("partition", f"{where} has example {index}; there are 0 to {'…' if num_examples is None else num_examples - 1}")
            if index in owner_of:
                raise mistake_at("partition", f"example {index} belongs to client {owner_of[index]} and to client {client}")
            owner_of[index] = client
    rows = "".join(f"{client},{index}\n" for index, client in owner_of.items())
    return write_text(folder, "partition", ".csv", f"client,example\n{rows}")


def _shares(numpy, partition: Any, num_examples: Optional[int]) -> list:
    """Returns the numbers of each client's examples."""
    items = list(partition) if not isinstance(partition, (str, Mapping)) and hasattr(partition, "__iter__") else []
    if not items:
        raise mistake_at("partition", f"expected a list of each client's examples, or each example's owner; found {partition!r}")
    is_owner = [isinstance(item, (str, int, numpy.integer, numpy.str_)) for item in items]
    if any(is_owner) and not all(is_owner):
        wrong = is_owner.index(False)
        raise mistake_at("partition", f"owner {wrong} is {items[wrong]!r}; expected a text or an integer for each example")
    if not any(is_owner):
        return items
    if num_examples is not None and len(items) != num_examples:
        raise mistake_at("partition", f"there are {len(items)} owners, but {num_examples} training examples")
    names, owners = numpy.unique(numpy.asarray(items), return_inverse=True)
    order = numpy.argsort(owners, kind="stable")
    return numpy.split(order, numpy.cumsum(numpy.bincount(owners, minlength=len(names)))[:-1])


def write_model(module: Any, shape: Sequence[int], tokens: bool, folder: Path) -> Path:
    """Exports a torch.nn.Module with torch.export, in train() and with a free number of examples, and returns the .pt2 file.

    shape: of an example of the data. The module gets examples in the first of these forms that it accepts: this shape, this shape without a first
    size of 1, a row. Raises ConfigError if it accepts none or cannot be exported, with the line of its code if torch.export stopped there.
    """
    import torch

    if isinstance(module, type):
        raise mistake_at("model", f"is the class {module.__name__}; expected a module; fix: {module.__name__}()")
    net = copy.deepcopy(module).cpu().train()
    forms = [(1, *shape)] if len(shape) == 2 else []
    forms += [tuple(shape)] + ([tuple(shape[1:])] if shape[0] == 1 else []) + [(math.prod(shape),)]
    problem: Exception = ValueError("no form fits")
    for form in dict.fromkeys(forms):
        example = torch.zeros((2, *form), dtype=torch.long if tokens else torch.float32)
        try:
            with torch.no_grad():
                copy.deepcopy(net)(example)
        except Exception as error:  # a module may raise anything for another shape
            problem = error
            continue
        try:
            program = torch.export.export(net, (example,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
        except Exception as error:  # of many kinds, by what the module does
            raise mistake_at("model", f"{_line_of(error, Path(torch.__file__).parent)}torch.export cannot export the module: "
                             f"{str(error).strip().splitlines()[0]}; docs/models.md says what a module may do") from error
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder, suffix=".part"))
        try:
            torch.export.save(program, part / "model.pt2")
            path = folder.absolute() / f"model-{hashlib.sha256((part / 'model.pt2').read_bytes()).hexdigest()[:16]}.pt2"
            os.replace(part / "model.pt2", path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return path
    raise mistake_at("model", f"the module takes no examples of the shape {tuple(shape)}: {problem}")


def _line_of(error: Exception, torch: Path) -> str:
    """Returns "FILE:LINE: code: " of the innermost frame that is neither PyTorch's nor fedhive's, or nothing."""
    own = (str(torch), str(Path(__file__).parent))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    while frames and frames[0].name != "forward":  # who called fh.run
        frames.pop(0)
    return f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}: " if frames else ""


def _numpy(what: str):
    try:
        import numpy
    except ImportError:
        raise package_error("numpy", what) from None
    return numpy
