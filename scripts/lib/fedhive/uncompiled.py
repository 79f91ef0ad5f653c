"""Runs the functions of a method file as they are, on NumPy's arrays in float64: to debug them, and to check their formulas.

    file = Uncompiled("scaffold.py", keys={})
    file.run("gradient", {"g": g, "c": c, "c_k": c_k})        # {"g": array}

Vectors are arrays [P]. The cohort's values are "k.n", "k.u", …: arrays [K] and [K, P]. @fh.loss gets "logits" [B, C], "z" [B, d], "y" [B],
"counts" [C], and what also_at names as "sent.logits", "sent.z"; so does @fh.measure. Memories by class are [C, d], [C, C] or [C].

usage: python3 -m fedhive.uncompiled FILE INPUTS --out RESULTS

Runs all functions on the values of a JSON file, {"keys": {…}, "client": {…}, "server": {…}}, and writes {place: {target: value}}. `fedhive method
FILE --python` compares with that.
"""
import inspect
import json
import os
import sys
import traceback
from pathlib import Path

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(f"{sys.executable} has no NumPy, on whose arrays the functions run; install it (pip install numpy), or name another Python by FEDHIVE_PYTHON")

from . import by_class, row_arrays, rows
from .arguments import Cohort, Root
from .context import Arithmetic, MethodError, current, fail, reading
from .declarations import Declarations
from .places import CLIENT_PLACES, PLACES
from .source import has_python
from .update_arrays import OF_UPDATES

_ELEMENTWISE = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod, "^": np.power, "negative": np.negative,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log, "tanh": np.tanh, "floor": np.floor,
    "minimum": np.minimum, "maximum": np.maximum, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: np.maximum(x, 0),
    "where": lambda condition, then, otherwise: np.where(condition != 0, then, otherwise),
    "log_sigmoid": lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))}
_OVER_COHORT = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "median": np.median}
_OF_VECTORS = {"sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(-1), "norm": lambda x: np.sqrt((x * x).sum(-1)),
               "dot": lambda a, b: (a * b).sum(-1), "cos": lambda a, b: (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))}
_OF_VECTORS["threshold"] = lambda x, share: np.sort(np.abs(x))[-max(1, min(len(x), int(np.floor(share * len(x) + 0.5))))]
_IN_COHORT = {"softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(), "sort": np.sort,
              "rank": lambda x: np.argsort(np.argsort(x, kind="stable"), kind="stable"), "simplex": lambda x: _onto_simplex(x)}


def _onto_simplex(x):
    descending = np.sort(x)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, len(x) + 1)
    return np.maximum(x - shifts[descending > shifts][-1], 0)


class Array(Arithmetic):
    """A value of a method file's functions. data is None for a declared name, which has the value that `run` is given."""

    __slots__ = ("data", "per_client", "is_vector", "name")

    def __init__(self, data, per_client=False, is_vector=False, name=None):
        self.data, self.per_client, self.is_vector, self.name = data, per_client, is_vector, name

    @property
    def operation(self):
        """"name" if it is a declared name, as a symbol has it."""
        return "array" if self.name is None else "name"

    @property
    def value(self):
        """The name."""
        return self.name

    def spoken(self):
        """Returns its text for a message."""
        return repr(self)

    def __bool__(self):
        return bool(current().data_of(self))

    def __getitem__(self, label):
        return current().call("pick", self, label)

    def __repr__(self):
        return repr(current().data_of(self))


def _widest(arguments):
    """Returns the shape of an elementwise operation's result."""
    kinds = [a.is_vector for a in arguments if a.is_vector]
    return next((kind for kind in kinds if kind != by_class.SHAPES["classes"]), kinds[0] if kinds else False)


def _spread(value, data, is_vector):
    """Returns an array with axes of length 1 where NumPy's rules need them to meet one of that shape."""
    is_table = by_class.is_by_class(is_vector) and is_vector.name != "classes"
    if value.is_vector == by_class.SHAPES["classes"] and is_table:
        return data[..., None]
    if not value.per_client or value.is_vector:
        return data
    return data[:, None, None] if is_table else data[:, None]


def _moved(result):
    """Returns the arguments of Array for (array, shape)."""
    data, kind = result
    return np.asarray(data, dtype=np.float64), False, kind


class Uncompiled(Declarations):
    """One method file whose functions run on arrays."""

    def __init__(self, path, keys=None):
        """Runs the file itself. keys: values that differ from the defaults. Python's own errors pass through."""
        super().__init__(str(path), os.path.abspath(path))
        self._keys, self._inputs = dict(keys or {}), {}
        source = Path(path).read_bytes()
        if has_python(source)[0]:
            sys.path.insert(0, os.path.dirname(self.filename))
        with reading(self):
            exec(compile(source, self.filename, "exec", dont_inherit=True), {"__name__": "method", "__file__": self.filename})

    def value(self, name, is_vector):
        return Array(None, False, is_vector, name)

    def cohort_value(self, name, is_vector):
        return Array(None, True, is_vector, "k." + name)

    def first_value(self, name, first):
        return float(self.data_of(first)) if isinstance(first, Array) else first

    def data_of(self, value):
        """Returns a value's array."""
        if not isinstance(value, Array):
            return np.float64(value)
        if value.data is not None:
            return value.data
        if value.name in self._inputs:
            return np.asarray(self._inputs[value.name], dtype=np.float64)
        if value.name in self.keys:
            return np.float64(self._keys.get(value.name, self.keys[value.name]["default"]))
        return fail(f"'{value.name}' has no value")

    def call(self, function, *arguments):
        """Returns the result of an operator or of one of fh's functions."""
        arguments = [a if isinstance(a, Array) else Array(np.float64(a)) for a in arguments]
        per_client, is_vector = any(a.per_client for a in arguments), _widest(arguments)
        data = [self.data_of(a) for a in arguments]
        if any(rows.is_row_kind(a.is_vector) for a in arguments):
            classes = self._inputs["logits"].shape[-1]
            return Array(*_moved(row_arrays.call(function, arguments, data, classes, _ELEMENTWISE)))
        if function in _OVER_COHORT and per_client:
            return Array(_OVER_COHORT[function](data[0], axis=0), False, is_vector)
        if function in _IN_COHORT:
            return Array(_IN_COHORT[function](data[0]).astype(np.float64), True)
        if function in OF_UPDATES:
            return Array(OF_UPDATES[function](*data), True)
        if function in _OF_VECTORS:
            return Array(_OF_VECTORS[function](*data), per_client)
        if is_vector:
            data = [_spread(a, d, is_vector) for a, d in zip(arguments, data)]
        return Array(np.asarray(_ELEMENTWISE[function](*data), dtype=np.float64), per_client, is_vector)

    def repeat(self, count, step, first):
        """Returns what fh.repeat says, by running its function so many times."""
        def values(results, like):
            results = [a if isinstance(a, Array) else Array(np.float64(a)) for a in results]
            shapes = like or results
            return [Array(self.data_of(a) * np.ones_like(self.data_of(b)), b.per_client) for a, b in zip(results, shapes)]

        now = values(first, None)
        for _ in range(int(self.data_of(count))):
            returned = step(*now)
            now = values(returned if isinstance(returned, (tuple, list)) else [returned], now)
        return now[0] if len(now) == 1 else tuple(now)

    def run(self, place, inputs):
        """Runs a place's function. inputs: {name: number or array}. Returns {target: array}."""
        self._inputs = inputs
        with reading(self):
            function = self.functions[place]
            returned = function(**{name: self._argument(name, place) for name in inspect.signature(function).parameters})
            if not isinstance(returned, dict):
                returned = {PLACES[place].target: returned}
            named = {target.name if isinstance(target, Array) else target: self.data_of(value) for target, value in returned.items()}
            return {f"k.{name}" if self.is_of_clients(name) else name: value for name, value in named.items()}

    def _argument(self, name, place):
        if place in ("loss", "measure", "answer"):
            return self._of_example(name)
        if name == "k":
            return Cohort(self, place)
        if name == "root":
            return Root(self)
        if name in self.constants:
            return self.constants[name]
        vectors = {vector for place in PLACES.values() for vector in place.vectors}
        if name == "counts":
            return self.value(name, by_class.SHAPES["classes"])
        return self.value(name, self.shape_of(name) if name in self.memories else name in vectors)

    def _of_example(self, name):
        """Returns an argument of @fh.loss."""
        if name == "out" or name in self.also_at:
            prefix = "" if name == "out" else name + "."
            return rows.Answers(name, {part: self.value(prefix + part, rows.NAMES[part]) for part in ("logits", "z")})
        if name in self.constants:
            return self.constants[name]
        shapes = {memory: rows.OF_MEMORIES[self.memories[memory]["shape"]] for memory in self.memories if self.is_by_class(memory)}
        return self.value(name, {**rows.NAMES, **shapes}.get(name, False))


def results_of(path, keys, client, server):
    """Returns {place: {target: array}} of all functions of a file. server: with the cohort as "k.n", …, and with the aggregates, by name."""
    file = Uncompiled(path, keys)
    results = {place: file.run(place, client) for place in CLIENT_PLACES if place in file.functions}
    cohort = {}
    for place in ("cohort", "weight"):
        if place in file.functions:
            cohort.update(file.run(place, server))
    if cohort:
        results["cohort"] = cohort
    if "server" in file.functions:
        results["server"] = file.run("server", {**server, **cohort})
    if "mix" in file.functions:
        results["mix"] = file.run("mix", server)
    return results


def main(arguments):
    """Runs the command of the module's docstring. Returns the exit status."""
    if len(arguments) != 4 or arguments[2] != "--out":
        print(__doc__.strip(), file=sys.stderr)
        return 2
    values = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    try:
        results = results_of(arguments[0], values["keys"], values["client"], values["server"])
    except MethodError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:  # a function's own
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.path.abspath(arguments[0])]
        print(f"{arguments[0]}:{where[-1].lineno if where else 1}: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    text = json.dumps({place: {target: np.asarray(value).tolist() for target, value in of_place.items()} for place, of_place in results.items()})
    Path(arguments[3]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
