"""Traces @fh.loss and @fh.measure: formulas of an example's logits, features and label, as one line or some."""
import inspect

from .context import fail, unknown
from .grammar import NAME
from .places import PLACES
from .rows import NAMES, OF_MEMORIES, SPOKEN, SUMMANDS, Answers, is_row_kind
from .symbols import Symbol
from .tracer import leaves, locals_of

MODELS = ("w_t", "w_0")  # beside memories that a client reads


class _RowTrace:
    """A function of an example, of one method file. results: {target: symbol}; hints: names of the function's locals."""

    place = ""

    def __init__(self, file):
        """file: the Tracer. Raises MethodError for what is no value of an example."""
        self._file, function = file, file.functions[self.place]
        self._line, self._at = file.line_of(function), f"@fh.{self.place}"
        self.also_at = self._others()
        self._check_declared()
        self._values = {name: self._value(name, kind) for name, kind in NAMES.items()}
        for name in self.also_at:
            self._values.update({f"{name}.{part}": self._value(f"{name}.{part}", NAMES[part]) for part in ("logits", "z")})
        self._by_class = [name for name in file.at_client() if file.is_by_class(name)]
        self._values.update({name: self._value(name, OF_MEMORIES[file.memories[name]["shape"]]) for name in self._by_class})
        arguments = {name: self._argument(name) for name in inspect.signature(function).parameters}
        self.hints = {}
        with locals_of(function, self.hints):
            returned = file.guarded(lambda: function(**arguments))
        if returned is None:
            fail(f"{self._at} returns nothing", self._line)
        self.results = self._checked(returned)

    def _others(self):
        return {}

    def _checked(self, returned):
        """Returns {target: symbol}."""
        raise NotImplementedError

    def _value(self, name, kind):
        return self._file.symbols.name(name, is_vector=kind)

    def _check_declared(self):
        for name in (*NAMES, "out", *self.also_at):
            if name in self._file.lines:
                fail(f"'{name}' is declared here, and is what {self._at} reads; choose another name", self._file.lines[name])

    def _argument(self, name):
        parts = {part: self._values[f"{name}.{part}"] for part in ("logits", "z")} if name in self.also_at else \
            {part: self._values[part] for part in ("logits", "z")} if name == "out" else None
        if parts:
            return Answers(name, parts)
        if name in ("y", "counts", *self._by_class):
            return self._values[name]
        if name in self._file.constants:
            return self._file.constants[name]
        numbers = [*PLACES[self.place].numbers, *self._file.keys]
        if name in numbers:
            return self._file.value(name, False)
        return self._refuse(name, numbers, self._file.line_of(self._file.functions[self.place], name))

    def _refuse(self, name, numbers, line):
        if self._file.is_by_class(name):
            self._file.refuse_name(name, self.place, "argument", line)
        if name in self._file.memories or name in MODELS:
            fail(f"{self._at}'s argument '{name}' is a vector of the model's shape; what the model at it gives for an example has a name by "
                 f"@fh.loss(also_at={{\"NAME\": {name if name in self._file.memories else repr(name)}}})", line)
        return fail(unknown(f"{self._at}'s argument", name, ["out", "y", "counts", *self.also_at, *self._by_class, *numbers]), line)

    def _check_names(self, value, line):
        """Raises MethodError for names of other functions. Returns those that the value reads."""
        names = {leaf.value for leaf in leaves(value) if leaf.operation == "name"}
        known = {*self._values, *PLACES[self.place].numbers, *self._file.keys}
        for name in sorted(names - known):
            fail(f"{self._at} reads '{name}', which belongs to another function; it has out, y, counts, what also_at names, keys and "
                 f"{', '.join([*self._by_class, *PLACES[self.place].numbers])}", line)
        return names

    def taken(self):
        """Returns names that a "let" must not have."""
        return self._file.names() | {name for name, value in self._values.items() if is_row_kind(value.is_vector)}


class LossTrace(_RowTrace):
    """The loss. also_at: {name: vector}."""

    place = "loss"

    def _others(self):
        return {name: self._vector(name, at) for name, at in self._file.also_at.items()}

    def _vector(self, name, at):
        """Returns the name of the vector that also_at gives."""
        vectors = [*MODELS, *(m for m in self._file.at_client() if not self._file.is_by_class(m))]
        text = at.value if isinstance(at, Symbol) and at.operation == "name" else at
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in (*NAMES, "out"):
            fail(f"@fh.loss: also_at names {name!r}, which is no new name", self._line)
        if not isinstance(text, str) or text not in vectors:
            fail(unknown(f"@fh.loss: also_at={{\"{name}\": …}}: the vector", text if isinstance(text, str) else repr(text), vectors), self._line)
        return text

    def _checked(self, returned):
        if isinstance(returned, (dict, tuple, list, Answers)):
            fail(f"@fh.loss returns the loss of an example, one number, not a {type(returned).__name__}", self._line)
        value = self._file.symbols.lift(returned)
        line = (not value.is_leaf and value.line) or self._line
        if value.per_client or value.is_vector not in (False, "row"):
            fail(f"loss = {value.spoken()}: the loss is a number for each example, as fh.cross_entropy, fh.sum, fh.mean and fh.dot give it", line)
        names = self._check_names(value, line)
        if not names & {"logits", "z"}:
            fail("@fh.loss reads neither out.logits nor out.z, so that no step changes it", line)
        for name in self.also_at:
            if not names & {f"{name}.logits", f"{name}.z"}:
                fail(f"@fh.loss: also_at names '{name}', and nothing reads {name}.logits or {name}.z", self._line)
        return {"loss": value}


class MeasureTrace(_RowTrace):
    """What a client measures of its examples. Its targets are memories by class that come up."""

    place = "measure"

    def _checked(self, returned):
        allowed = [name for name in self._file.sent_up() if self._file.is_by_class(name)]
        if not isinstance(returned, dict) or not returned:
            fail("@fh.measure returns a dict {memory by class that comes up: value of an example}", self._line)
        results = {}
        for given, value in returned.items():
            name = given.value if isinstance(given, Symbol) and given.operation == "name" else given
            if name in self._file.memories and name not in allowed:
                fail(f"@fh.measure returns '{name}', which is no memory by class that comes up: declare it with of='visit', up=True and a shape", self._line)
            if name not in allowed:
                fail(unknown("what @fh.measure returns:", str(name), allowed), self._line)
            results[name] = self._of_example(name, self._file.symbols.lift(value))
        return results

    def _of_example(self, name, value):
        line, shape = (not value.is_leaf and value.line) or self._line, self._file.memories[name]["shape"]
        if value.is_vector != SUMMANDS[shape]:
            fail(f"{name} = {value.spoken()}: a memory of shape=\"{shape}\" is the sum of {SPOKEN[SUMMANDS[shape]]}. "
                 "How many examples of each class there are, @fh.end reads as counts.", line)
        if not self._check_names(value, line) & {"logits", "z"}:
            fail(f"{name} = {value.spoken()}: it reads neither out.logits nor out.z", line)
        return value
