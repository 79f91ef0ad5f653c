"""Traces @fh.loss: a formula of an example's logits, features and label, as one line or some."""
import inspect

from .context import fail, unknown
from .grammar import NAME
from .places import PLACES
from .rows import NAMES, Answers, is_row_kind
from .symbols import Symbol
from .tracer import leaves, locals_of

MODELS = ("w_t", "w_0")  # beside memories that a client reads


class LossTrace:
    """The loss of one method file. results: {"loss": symbol}; hints: names of the function's locals; also_at: {name: vector}."""

    def __init__(self, file):
        """file: the Tracer. Raises MethodError for what is no loss of an example."""
        self._file, function = file, file.functions["loss"]
        self._line = file.line_of(function)
        self.also_at = {name: self._vector(name, at) for name, at in file.also_at.items()}
        self._check_declared()
        self._values = {name: self._value(name, kind) for name, kind in NAMES.items()}
        for name in self.also_at:
            self._values.update({f"{name}.{part}": self._value(f"{name}.{part}", NAMES[part]) for part in ("logits", "z")})
        arguments = {name: self._argument(name) for name in inspect.signature(function).parameters}
        self.hints = {}
        with locals_of(function, self.hints):
            returned = file.guarded(lambda: function(**arguments))
        self.results = {"loss": self._checked(returned)}

    def _value(self, name, kind):
        return self._file.symbols.name(name, is_vector=kind)

    def _vector(self, name, at):
        """Returns the name of the vector that also_at gives."""
        vectors = [*MODELS, *self._file.memories_of("client"), *(m for m in self._file.memories_of("server") if self._file.memories[m].get("down"))]
        text = at.value if isinstance(at, Symbol) and at.operation == "name" else at
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in (*NAMES, "out"):
            fail(f"@fh.loss: also_at names {name!r}, which is no new name", self._line)
        if not isinstance(text, str) or text not in vectors:
            fail(unknown(f"@fh.loss: also_at={{\"{name}\": …}}: the vector", text if isinstance(text, str) else repr(text), vectors), self._line)
        return text

    def _check_declared(self):
        for name in (*NAMES, "out", *self.also_at):
            if name in self._file.lines:
                fail(f"'{name}' is declared here, and is what @fh.loss reads; choose another name", self._file.lines[name])

    def _argument(self, name):
        parts = {part: self._values[f"{name}.{part}"] for part in ("logits", "z")} if name in self.also_at else \
            {part: self._values[part] for part in ("logits", "z")} if name == "out" else None
        if parts:
            return Answers(name, parts)
        if name in ("y", "counts"):
            return self._values[name]
        if name in self._file.constants:
            return self._file.constants[name]
        numbers = [*PLACES["loss"].numbers, *self._file.keys]
        if name in numbers:
            return self._file.value(name, False)
        line = self._file.line_of(self._file.functions["loss"], name)
        if name in self._file.memories or name in MODELS:
            fail(f"@fh.loss's argument '{name}' is a vector of the model's shape; what the model at it gives for an example has a name by "
                 f"@fh.loss(also_at={{\"NAME\": {name if name in self._file.memories else repr(name)}}})", line)
        return fail(unknown("@fh.loss's argument", name, ["out", "y", "counts", *self.also_at, *numbers]), line)

    def _checked(self, returned):
        """Returns the loss as a symbol."""
        if returned is None:
            fail("@fh.loss returns nothing", self._line)
        if isinstance(returned, (dict, tuple, list, Answers)):
            fail(f"@fh.loss returns the loss of an example, one number, not a {type(returned).__name__}", self._line)
        value = self._file.symbols.lift(returned)
        line = (not value.is_leaf and value.line) or self._line
        if value.per_client or value.is_vector not in (False, "row"):
            fail(f"loss = {value.spoken()}: the loss is a number for each example, as fh.cross_entropy, fh.sum, fh.mean and fh.dot give it", line)
        names = {leaf.value for leaf in leaves(value) if leaf.operation == "name"}
        known = {*self._values, *PLACES["loss"].numbers, *self._file.keys}
        for name in sorted(names - known):
            fail(f"@fh.loss reads '{name}', which belongs to another function; it has out, y, counts, what also_at names, keys and "
                 f"{', '.join(PLACES['loss'].numbers)}", line)
        if not names & {"logits", "z"}:
            fail("@fh.loss reads neither out.logits nor out.z, so that no step changes it", line)
        for name in self.also_at:
            if not names & {f"{name}.logits", f"{name}.z"}:
                fail(f"@fh.loss: also_at names '{name}', and nothing reads {name}.logits or {name}.z", self._line)
        return value

    def taken(self):
        """Returns names that a "let" must not have."""
        return self._file.names() | {name for name, value in self._values.items() if is_row_kind(value.is_vector)}
