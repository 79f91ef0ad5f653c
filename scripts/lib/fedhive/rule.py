"""The process of a rule in Python: @fh.server(python=True), over the updates in shared memory. docs/methods.md.

usage: python3 -m fedhive.rule FILE --serve FD FD       answers requests, one JSON object a line, from the first descriptor at the second

Requests: {"do": "begin", "source": the file's text, "keys": {…}}, then {"do": "aggregate", …}, {"do": "state"}, {"do": "restore", "state": …}.
Answers: {}, {"state": text} or {"error": text}.
"""
import base64
import io
import mmap
import os
import sys
from types import SimpleNamespace

import numpy as np

from . import own_code
from .own_code import Refused


class Clients(SimpleNamespace):
    """Arrays [K] of the senders, as clients.n or clients["n"]."""

    def __getattr__(self, name):
        raise AttributeError(f"clients has no '{name}'; there are: {', '.join(sorted(self.__dict__))}")

    def __getitem__(self, name):
        if name not in self.__dict__:
            raise KeyError(f"clients has no {name!r}; there are: {', '.join(sorted(self.__dict__))}")
        return self.__dict__[name]


class Rule:
    """One file with a rule, and its state."""

    def __init__(self, path, source, keys):
        """Runs the file. Raises MethodError."""
        self.path = os.path.abspath(path)
        self.state = {}
        self._function, file = own_code.load(path, source, "server", keys)
        self._name = getattr(self._function, "__name__", "aggregate")
        self._arguments = own_code.argument_names(self._function)
        self._keys = own_code.numbers_of(file, self._arguments)

    def aggregate(self, values):
        """Returns the aggregate, float32 [P]. values: {argument: value}. Raises Refused for anything else that the function returns."""
        given = {**values, **self._keys}
        result = self._function(**{name: given[name] for name in self._arguments})
        size, who = values["updates"].shape[1], f"{self.path}: {self._name}"
        if result is None:
            raise Refused(f"{who} returns nothing; return one update, an array of {size} numbers")
        try:
            array = np.asarray(result, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise Refused(f"{who} returns {type(result).__name__}, not an array of {size} numbers: {error}") from None
        if array.shape != (size,):
            raise Refused(f"{who} returns an array of shape {list(array.shape)}; one update has shape [{size}]")
        if not np.isfinite(array).all():
            first = int(np.flatnonzero(~np.isfinite(array))[0])
            raise Refused(f"{who} returns {array[first]} at position {first}; all numbers have to be finite")
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
        """Restores the state from a text of state_text()."""
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


class Process:
    """The state of the process: its rule, and the parent's memory."""

    def __init__(self):
        self._rule, self._memory = None, SharedMemory(os.getppid())

    def answer(self, path, request):
        """Returns the answer to a request."""
        if request["do"] == "begin":
            self._rule = Rule(path, request["source"], request["keys"])
            return {}
        if request["do"] == "state":
            return {"state": self._rule.state_text()}
        if request["do"] == "restore":
            self._rule.restore(request["state"])
            return {}
        floats = request["floats"]
        result = self._rule.aggregate({
            "updates": self._memory.rows(request["rows"][0], request["rows"][1], floats), "state": self._rule.state, "round": request["round"],
            "num_clients": request["num_clients"], "clients": Clients(**{name: np.asarray(values) for name, values in request["clients"].items()}),
            "tensors": {name: (slice(offset, offset + size), tuple(shape)) for name, offset, size, shape in request["tensors"]}})
        self._memory.bytes_of(request["out"], writable=True)[:4 * floats] = result.view(np.uint8)
        return {}


if __name__ == "__main__":
    sys.exit(own_code.serve(sys.argv[1:], __doc__, Process().answer))
