"""Traces @fh.loss, @fh.measure and @fh.answer: formulas of an example's logits, features and label, as one line or some."""
import inspect

from .context import fail, unknown
from .grammar import NAME
from .places import PLACES
from .rows import CLASSES, NAMES, OF_MEMORIES, SPOKEN, SUMMANDS, Answers, is_row_kind, refuse_batch
from .symbols import Symbol
from .tracer import leaves, locals_of

MODELS = ("w_t", "w_0")  # beside memories that a client reads


class _RowTrace:
    """A function of an example, of one method file. results: {target: symbol}; hints: names of the function's locals; also_at: {name: vector};
    read: names that the results read."""

    place = ""
    known = tuple(NAMES)

    def __init__(self, file):
        """file: the Tracer. Raises MethodError for what is no value of an example."""
        self._file, function = file, file.functions[self.place]
        self._line, self._at = file.line_of(function), f"@fh.{self.place}"
        self.also_at = {name: self._vector(name, at) for name, at in file.also_at.items()}
        self._check_declared()
        self.read = set()
        self._values = {name: self._value(name, kind) for name, kind in NAMES.items() if name in self.known}
        for name in self.also_at:
            self._values.update({f"{name}.{part}": self._value(f"{name}.{part}", NAMES[part]) for part in ("logits", "z")})
        self._by_class = [name for name in file.at_client() if file.is_by_class(name) and self.place != "answer"]
        self._numbers = [name for name in file.at_client() if file.is_number(name)]
        self._values.update({name: self._value(name, OF_MEMORIES[file.memories[name]["shape"]]) for name in self._by_class})
        arguments = {name: self._argument(name) for name in inspect.signature(function).parameters}
        self.hints = {}
        with locals_of(function, self.hints):
            returned = file.guarded(lambda: function(**arguments))
        if returned is None:
            fail(f"{self._at} returns nothing", self._line)
        self.results = self._checked(returned)

    def _checked(self, returned):
        """Returns {target: symbol}."""
        raise NotImplementedError

    def _vector(self, name, at):
        """Returns the name of the vector that also_at gives."""
        vectors = [*MODELS, *(m for m in self._file.at_client() if self._file.is_model(m))]
        text = at.value if isinstance(at, Symbol) and at.operation == "name" else at
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in (*NAMES, "out"):
            fail(f"{self._at}: also_at names {name!r}, which is not a free name; choose another", self._line)
        if not isinstance(text, str) or text not in vectors:
            fail(unknown(f"{self._at}: also_at={{\"{name}\": …}}: the vector", text if isinstance(text, str) else repr(text), vectors), self._line)
        return text

    def _value(self, name, kind):
        return self._file.symbols.name(name, is_vector=kind)

    def _check_declared(self):
        for name in (*NAMES, "out", *self.also_at):
            if name in self._file.lines:
                fail(f"'{name}' is declared here, but in {self._at} it means something else; choose another name", self._file.lines[name])

    def _argument(self, name):
        parts = {part: self._values[f"{name}.{part}"] for part in ("logits", "z")} if name in self.also_at else \
            {part: self._values[part] for part in ("logits", "z")} if name == "out" else None
        if parts:
            return Answers(name, parts)
        if name in self._values:
            return self._values[name]
        if name in self._file.constants:
            return self._file.constants[name]
        numbers = [*PLACES[self.place].numbers, *self._file.keys, *self._numbers]
        if name in numbers:
            return self._file.value(name, False)
        return self._refuse(name, numbers, self._file.line_of(self._file.functions[self.place], name))

    def _refuse(self, name, numbers, line):
        if self._file.is_by_class(name):
            self._file.refuse_name(name, self.place, "argument", line)
        if name in self._file.memories or name in MODELS:
            fail(f"{self._at} cannot read '{name}', a vector of the model's shape; to read what the model answers there, name it: "
                 f"@fh.{self.place}(also_at={{\"NAME\": {name if name in self._file.memories else repr(name)}}})", line)
        return fail(unknown(f"{self._at}'s argument", name, ["out", *(n for n in ("y", "counts") if n in self.known), *self.also_at, *self._by_class, *numbers]), line)

    def _check_names(self, value, line):
        """Raises MethodError for names of other functions. Returns those that the value reads."""
        names = {leaf.value for leaf in leaves(value) if leaf.operation == "name"}
        known = {*self._values, *PLACES[self.place].numbers, *self._file.keys, *self._numbers}
        for name in sorted(names - known):
            fail(f"{self._at} reads '{name}', an argument of another function; allowed: out, {'' if self.place == 'answer' else 'y, counts, '}names of also_at, "
                 f"keys and {', '.join([*self._by_class, *self._numbers, *PLACES[self.place].numbers])}", line)
        self.read |= {name.split(".")[0] for name in names if "." in name}
        return names

    def taken(self):
        """Returns names that a "let" must not have."""
        return self._file.names() | {name for name, value in self._values.items() if is_row_kind(value.is_vector)}


class LossTrace(_RowTrace):
    """The loss."""

    place = "loss"

    def _checked(self, returned):
        if isinstance(returned, (dict, tuple, list, Answers)):
            fail(f"@fh.loss returns a {type(returned).__name__}; return one number, the loss of an example", self._line)
        value = self._file.symbols.lift(returned)
        line = (not value.is_leaf and value.line) or self._line
        if value.per_client or value.is_vector not in (False, "row"):
            fail(f"loss = {value.spoken()}: the loss must be a number for each example; fh.cross_entropy, fh.sum, fh.mean and fh.dot give one", line)
        names = self._check_names(value, line)
        if not names & {"logits", "z"}:
            fail("@fh.loss reads neither out.logits nor out.z, so it has no gradient; read one of them", line)
        return {"loss": value}


class AnswerTrace(_RowTrace):
    """A client's own answer to an example."""

    place = "answer"
    known = ("logits", "z")

    def _checked(self, returned):
        if isinstance(returned, (dict, tuple, list, Answers)):
            fail(f"@fh.answer returns a {type(returned).__name__}; return a number for each class, such as out.logits", self._line)
        value = self._file.symbols.lift(returned)
        line = (not value.is_leaf and value.line) or self._line
        refuse_batch(value, self._at, line)
        if value.is_vector != CLASSES:
            fail(f"answer = {value.spoken()}: an answer must be a number for each class, such as out.logits or fh.softmax(out.logits)", line)
        self._check_names(value, line)
        return {"answer": value}


class MeasureTrace(_RowTrace):
    """Traces @fh.measure. Its targets are memories by class with up=True, and clients' numbers."""

    place = "measure"

    def _checked(self, returned):
        own = [name for name in self._file.memories_of("client") if self._file.is_number(name)]
        allowed = [name for name in self._file.sent_up() if self._file.is_by_class(name)] + own
        if not isinstance(returned, dict) or not returned:
            fail("@fh.measure returns no dict; return {memory by class with up=True, or a client's number: value of an example}", self._line)
        results = {}
        for given, value in returned.items():
            name = given.value if isinstance(given, Symbol) and given.operation == "name" else given
            if name in self._file.memories and name not in allowed:
                fail(f"@fh.measure returns '{name}', which is neither a memory by class with up=True nor a client's number; declare it with of='visit', up=True and a "
                     "shape, or with of='client' and shape=\"number\"", self._line)
            if name not in allowed:
                fail(unknown("@fh.measure's result", str(name), allowed), self._line)
            results[name] = self._of_example(name, self._file.symbols.lift(value))
        return results

    def _of_example(self, name, value):
        line, shape = (not value.is_leaf and value.line) or self._line, self._file.memories[name]["shape"]
        refuse_batch(value, self._at, line)
        if value.is_vector != SUMMANDS[shape]:
            fail(f"{name} = {value.spoken()}: a memory of shape=\"{shape}\" sums {SPOKEN[SUMMANDS[shape]]}. "
                 "@fh.end reads the number of examples of each class as counts.", line)
        if not self._check_names(value, line) & {"logits", "z"} and not self.read:
            fail(f"{name} = {value.spoken()}: it reads neither logits nor z of a model; read one of them", line)
        return value
