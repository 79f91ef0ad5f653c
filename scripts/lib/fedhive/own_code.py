"""Functions that Python runs in a round: @fh.server(python=True), a rule over the updates, and @fh.visit(python=True), a client's whole work.

A file that strategy.rule or strategy.visit names may have its function without a decorator, under the name `aggregate` or `visit`. Keys are numbers
in these functions, as arguments or as the file's variables. docs/methods.md.
"""
import importlib
import inspect
import json
import os
import sys
import traceback

from .context import MethodError, fail, reading, unknown
from .places import PYTHON_ARGUMENTS
from .source import Source

UNMARKED = {"server": "aggregate", "visit": "visit"}  # a function's name where it is the file's only one
_HOW = {"server": "def aggregate(updates, clients, state): return one update", "visit": "def visit(model, batches, client): train the model, return nothing"}
_OF_A_VISIT = ("start", "loss", "second", "gradient", "after", "measure", "end", "judge", "answer", "mix")
_KEPT_SHAPES = ("model", "classes", "number")


class Refused(Exception):
    """A mistake of the file's author."""


class Running(Source):
    """A file that is run as it is: a key is its number, a memory or a report its name."""

    def __init__(self, path, filename, values=None):
        """values: of keys that differ from their defaults."""
        super().__init__(path, filename)
        self.numbers, self.in_first_values, self._values = {}, set(), values or {}

    def value(self, name, is_vector):
        if name not in self.keys:
            return name
        number = self._values.get(name, self.keys[name]["default"])
        return int(number) if self.keys[name].get("integer") else float(number)

    def first_value(self, name, first):
        return first

    def cohort_value(self, name, is_vector):
        return name

    def call(self, function, *arguments):
        """Refuses a function of formulas."""
        return fail(f"fh.{function} is for formulas; in Python use NumPy or PyTorch")


def load(path, source, place, values=None):
    """Runs a file's text. Returns (the place's function, the file as Running). values: of its keys. Raises MethodError."""
    file = Running(str(path), os.path.abspath(path), values)
    with reading(file):
        file.run_file(source, imports=True)
        take_unmarked(file, place)
    return file.python[place], file


def take_unmarked(file, place):
    """Uses the function of a file without decorators for the place. Raises MethodError if the file has none, or one for another place."""
    name, key = UNMARKED[place], "rule" if place == "server" else "visit"
    if not file.functions and not file.python:
        function = file.names_of_file.get(name)
        if not callable(function):
            fail(f"no function `{name}`, and none under @fh.{place}(python=True); a {key} is: {_HOW[place]}")
        file.python[place] = function
    if place not in file.python:
        fail(f"no function under @fh.{place}(python=True), which strategy.{key} runs; strategy.file runs the others")


def unmarked_hint(file):
    """Returns a hint for a file with a function of strategy.rule or strategy.visit, else an empty text."""
    return "".join(f"; write @fh.{place}(python=True) before {name}, or give the file to strategy.{'rule' if place == 'server' else place}"
                   for place, name in UNMARKED.items() if callable(file.names_of_file.get(name)))


def check_alone(file, place):
    """Raises MethodError for functions beside the place's."""
    others = [other for other in (*file.functions, *file.python) if other != place]
    if others:
        fail(f"has @fh.{others[0]}, too, which strategy.{'rule' if place == 'server' else place} does not run; strategy.file runs all of the file",
             file.line_of(file.functions.get(others[0]) or file.python[others[0]]))


def part_of_box(file):
    """Returns the facts about the functions that Python runs, by place; empty without one. Raises MethodError for contradictions and for unknown
    arguments."""
    if not file.python:
        return {}
    for name in file.keys:
        for place in file.python:
            if name in PYTHON_ARGUMENTS[place]:
                fail(f"'{name}' is what fedhive gives to @fh.{place}(python=True); choose another name for the key", file.lines[name])
    part = {place: _described(file, place) for place in file.python}
    if "server" in file.python:
        _check_rule(file)
    if "visit" in file.python:
        part["visit"]["memories"] = _kept_by_visit(file)
    return part


def check_imports(part):
    """Raises MethodError if Python lacks a package that the functions' arguments need."""
    if part:
        _check_import("numpy", "as whose arrays its functions get values")
    if "model" in part.get("visit", {}).get("arguments", []):
        _check_import("torch", "as whose module a visit gets the `model`", ", or take `weights`, NumPy's arrays")


def _described(file, place):
    function = file.python[place]
    arguments = argument_names(function)
    known = [*PYTHON_ARGUMENTS[place], *file.keys, *file.constants]
    for name in arguments:
        if name not in known:
            line = file.line_of(function, name) if inspect.isfunction(function) else None
            if place == "server" and name in ("w", "u"):
                fail(f"{function.__name__}'s argument '{name}': in Python, @fh.server returns the update of the round, made of `updates`", line)
            fail(unknown(f"{function.__name__}'s argument", name, known), line)
    return {"function": getattr(function, "__name__", UNMARKED[place]), "arguments": arguments}


def _check_import(package, what, otherwise=""):
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as missing:
        if missing.name != package:
            raise
        shown = {"numpy": "NumPy", "torch": "PyTorch"}[package]
        fail(f"{sys.executable} has no {shown}, {what}; install it (pip install {package}), name another Python by FEDHIVE_PYTHON{otherwise}")


def _check_rule(file):
    for place in ("cohort", "weight"):
        if place in file.functions:
            fail(f"@fh.{place} weighs the updates, and @fh.server(python=True) combines them itself; leave one of them out", file.line_of(file.functions[place]))
    for name in file.memories_of("server"):
        fail(f"memory '{name}' of='server' is for formulas; what @fh.server(python=True) remembers is in `state`", file.lines[name])
    for name in file.sent_up():
        fail(f"memory '{name}' comes up, and @fh.server(python=True) gets updates and reports alone: send a report, or write a formula for the server",
             file.lines[name])


def _kept_by_visit(file):
    """Returns {name: {shape, first}} of the memories of clients; what travels is the formulas' as well. Raises MethodError."""
    for place in _OF_A_VISIT:
        if place in file.functions:
            fail(f"@fh.{place} and @fh.visit(python=True): the visit is all that a client does, and nothing would evaluate this formula; leave one of them out",
                 file.line_of(file.functions[place]))
    for name in file.losses_at:
        fail(f"'{name}', the loss at {file.losses_at[name]}: no formula of a client reads it beside @fh.visit(python=True); take it in the visit", file.lines[name])
    for name in file.memories_of("visit"):
        if not file.memories[name].get("up"):
            fail(f"memory '{name}' of='visit' does not come up: a variable of the visit does the same", file.lines[name])
    kept = {}
    for name, memory in file.memories.items():
        shape, first = memory.get("shape", "model"), memory["first"]
        travels = memory.get("up") or memory.get("down")
        if (travels and shape not in ("model", "number")) or (memory["owner"] == "client" and shape not in _KEPT_SHAPES):
            fail(f"memory '{name}': shape=\"{shape}\" is for formulas of examples; with @fh.visit(python=True) there are "
                 f"{'model' if travels else ', '.join(_KEPT_SHAPES)}", file.lines[name])
        if memory["owner"] == "client":
            if first not in (0, "w_t"):
                fail(f"memory '{name}': first={first}; with @fh.visit(python=True) a memory begins as 0, or as \"w_t\"", file.lines[name])
            kept[name] = {"shape": shape, **({"first": "w_t"} if first == "w_t" else {})}
    return kept


def own_error(path, error):
    """Returns an error of the file's own code, with the calls on its way: FILE:LINE: text (visit:3 > step:9)."""
    filename = os.path.abspath(path)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == filename]
    calls = [f"{frame.name}:{frame.lineno}" for frame in own] + [f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"] * (frames[-1] not in own)
    return f"{path}:{own[-1].lineno if own else 1}: {type(error).__name__}: {error}" + (f" ({' > '.join(calls)})" if len(calls) > 1 else "")


def serve(arguments, usage, answer):
    """Runs FILE --serve FD FD: answers requests, one JSON object a line, from the first descriptor at the second. answer(path, request): returns an
    answer. Returns the exit status."""
    if len(arguments) != 4 or arguments[1] != "--serve":
        print(usage.strip(), file=sys.stderr)
        return 2
    path = arguments[0]
    with os.fdopen(int(arguments[2]), encoding="utf-8") as requests, os.fdopen(int(arguments[3]), "w", encoding="utf-8") as answers:
        for line in requests:
            try:
                given = answer(path, json.loads(line))
            except (Refused, MethodError) as refused:
                given = {"error": str(refused)}
            except Exception as error:  # the file's own
                traceback.print_exc()
                given = {"error": own_error(path, error)}
            answers.write(json.dumps(given) + "\n")
            answers.flush()
    return 0


def argument_names(function):
    """Returns the names of a function's arguments."""
    return list(inspect.signature(function).parameters)


def numbers_of(file, names):
    """Returns the values of those names that are keys."""
    return {name: file.value(name, False) if name in file.keys else file.constants[name] for name in names if name in file.keys or name in file.constants}
