"""A rule of one's own: runs the function `aggregate` of a file in a process of its own, over the updates in shared memory. docs/methods.md.

usage: python3 -m fedhive.rule FILE --out RESULT        checks the file and writes {"doc": its first line}
       python3 -m fedhive.rule FILE --serve FD FD       answers requests, one JSON object a line, from the first descriptor at the second

Requests: {"do": "aggregate", …}, {"do": "state"}, {"do": "restore", "state": …}. Answers: {}, {"state": text} or {"error": text}.
"""
import base64
import inspect
import io
import json
import mmap
import os
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(f"{sys.executable} has no NumPy, and a rule gets the updates as NumPy arrays; install it (pip install numpy), or set FEDHIVE_PYTHON "
             "to another Python")

ARGUMENTS = ("updates", "clients", "state", "tensors", "round", "num_clients")


class Refused(Exception):
    """What the file's author can mend."""


class Rule:
    """One file with `aggregate`, and its state."""

    def __init__(self, path):
        """Runs the file. Raises Refused if it gives no such function; its own errors pass through."""
        self.path = os.path.abspath(path)
        self.state = {}
        names = {"__name__": "rule", "__file__": self.path}
        sys.path.insert(0, os.path.dirname(self.path))
        exec(compile(Path(path).read_bytes(), self.path, "exec", dont_inherit=True), names)
        self._aggregate = names.get("aggregate")
        if not callable(self._aggregate):
            raise Refused(f"{path}: the file has no function `aggregate`; write def aggregate(updates, clients, state): …, which returns one update")
        self.arguments = list(inspect.signature(self._aggregate).parameters)
        line = self._aggregate.__code__.co_firstlineno if inspect.isfunction(self._aggregate) else 1
        for name in self.arguments:
            if name not in ARGUMENTS:
                raise Refused(f"{path}:{line}: aggregate's argument '{name}' is not known. There are: {', '.join(ARGUMENTS)}")
        self.doc = ((inspect.getdoc(self._aggregate) or names.get("__doc__") or "").strip().splitlines() or [""])[0]

    def aggregate(self, values):
        """Returns the aggregate, float32 [P]. values: {argument: value}. Raises Refused for anything else that the function returns."""
        result = self._aggregate(**{name: values[name] for name in self.arguments})
        size = values["updates"].shape[1]
        if result is None:
            raise Refused(f"{self.path}: aggregate returns nothing; return one update, an array of {size} numbers")
        try:
            array = np.asarray(result, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise Refused(f"{self.path}: aggregate returns {type(result).__name__}, not an array of {size} numbers: {error}") from None
        if array.shape != (size,):
            raise Refused(f"{self.path}: aggregate returns an array of shape {list(array.shape)}; one update has shape [{size}]")
        if not np.isfinite(array).all():
            first = int(np.flatnonzero(~np.isfinite(array))[0])
            raise Refused(f"{self.path}: aggregate returns {array[first]} at position {first}; all numbers must be finite")
        return array

    def state_text(self):
        """Returns the state as text, empty without one. Raises Refused for values that are no numbers, texts or arrays of these."""
        if not self.state:
            return ""
        arrays = {}
        for name, value in self.state.items():
            array = np.asarray(value)
            if not isinstance(name, str) or array.dtype.kind not in "biufU":
                raise Refused(f"{self.path}: state[{name!r}] is {type(value).__name__}; allowed: numbers, strings and arrays of them, with a string as name")
            arrays[name] = array
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return base64.b64encode(file.getvalue()).decode()

    def restore(self, text):
        """Goes on from what state_text() returned."""
        self.state.clear()
        if text:
            with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as arrays:
                self.state.update({name: array.item() if array.ndim == 0 else array for name, array in arrays.items()})


class SharedMemory:
    """Memory of the parent process, by its descriptors."""

    def __init__(self, parent):
        self._parent, self._maps = parent, {}

    def bytes_of(self, descriptor, writable=False):
        """Returns a segment as an array of bytes."""
        path = f"/proc/{self._parent}/fd/{descriptor}"
        key = os.stat(path).st_ino, writable
        if key not in self._maps:
            file = os.open(path, os.O_RDWR if writable else os.O_RDONLY)
            try:
                access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
                self._maps[key] = np.frombuffer(mmap.mmap(file, 0, flags=mmap.MAP_SHARED, prot=access), dtype=np.uint8)
            finally:
                os.close(file)
        return self._maps[key]

    def rows(self, descriptor, offsets, floats):
        """Returns [K, floats]: a view where the offsets are evenly spaced, else a copy."""
        data = self.bytes_of(descriptor)
        steps = np.diff(offsets)
        if len(offsets) == 1 or (steps == steps[0]).all():
            first = np.frombuffer(data.data, dtype=np.float32, count=floats, offset=offsets[0])
            step = int(steps[0]) if len(offsets) > 1 else floats * 4
            return np.lib.stride_tricks.as_strided(first, (len(offsets), floats), (step, 4), writeable=False)
        return np.stack([np.frombuffer(data.data, dtype=np.float32, count=floats, offset=offset) for offset in offsets])


def answer(rule, memory, request):
    """Returns the answer to a request."""
    if request["do"] == "state":
        return {"state": rule.state_text()}
    if request["do"] == "restore":
        rule.restore(request["state"])
        return {}
    floats = request["floats"]
    result = rule.aggregate({
        "updates": memory.rows(request["rows"][0], request["rows"][1], floats), "state": rule.state, "round": request["round"],
        "num_clients": request["num_clients"], "clients": SimpleNamespace(**{name: np.asarray(values) for name, values in request["clients"].items()}),
        "tensors": {name: (slice(offset, offset + size), tuple(shape)) for name, offset, size, shape in request["tensors"]}})
    memory.bytes_of(request["out"], writable=True)[:4 * floats] = result.view(np.uint8)
    return {}


def own_error(rule_path, error):
    """Returns an error of the file's own code as FILE:LINE: text."""
    where = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.path.abspath(rule_path)]
    if isinstance(error, SyntaxError) and error.filename == os.path.abspath(rule_path):
        where, error = [error.lineno], SyntaxError(error.msg)
    return f"{rule_path}:{where[-1] if where else 1}: {type(error).__name__}: {error}"


def serve(rule, requests, answers):
    """Answers requests until there are no more."""
    memory = SharedMemory(os.getppid())
    for line in requests:
        try:
            given = answer(rule, memory, json.loads(line))
        except Refused as refused:
            given = {"error": str(refused)}
        except Exception as error:  # the file's own
            traceback.print_exc()
            given = {"error": own_error(rule.path, error)}
        answers.write(json.dumps(given) + "\n")
        answers.flush()


def main(arguments):
    """Runs the command of the module's docstring. Returns the exit status."""
    is_check, is_serve = len(arguments) == 3 and arguments[1] == "--out", len(arguments) == 4 and arguments[1] == "--serve"
    if not (is_check or is_serve):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        rule = Rule(arguments[0])
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{arguments[0]}: cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    except Exception as error:  # the file's own
        print(own_error(arguments[0], error), file=sys.stderr)
        return 2
    if is_check:
        Path(arguments[2]).write_text(json.dumps({"doc": rule.doc}), encoding="utf-8")
        return 0
    with os.fdopen(int(arguments[2]), encoding="utf-8") as requests, os.fdopen(int(arguments[3]), "w", encoding="utf-8") as answers:
        serve(rule, requests, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
