"""Runs the functions of a method file once on symbols. The results are formulas; text.py and lowering.py make lines of them."""
import contextlib
import inspect
import sys

from . import products, repeats
from .arguments import Cohort, Root
from .context import MethodError, fail, unknown
from .grammar import ALLOWED, NAME
from .places import GIVEN, PLACES, ROOT_NUMBERS, ROOT_PLACES
from .source import Source
from .symbols import Symbol, Symbols, shape_text
from .text import parse, text_of


class Tracer(Source):
    """One method file that is read on symbols."""

    def __init__(self, path, filename):
        super().__init__(path, filename)
        self.symbols = Symbols()
        self.numbers = {}  # of the cohort, by @fh.cohort: {name: symbol}
        self.in_first_values = set()  # keys
        self.place = None  # whose function runs
        self.hints = {}  # names of its locals

    def value(self, name, is_vector):
        return self.symbols.name(name, is_vector=is_vector)

    def cohort_value(self, name, is_vector):
        return self.symbols.name("k." + name, per_client=True, is_vector=is_vector)

    def call(self, function, *arguments):
        """Returns the symbol of an operation or a function of fh."""
        return self.symbols.call(function, *arguments)

    def repeat(self, count, step, first):
        """Returns the results of fh.repeat: one, or as many as it begins with."""
        names = list(inspect.signature(step).parameters) if callable(step) else []
        if len(names) != len(first) or not first:
            fail("fh.repeat(count, step, first, …): step is a function of as many values as follow it")
        with locals_of(step, self.hints):
            results = repeats.repeated(self, count, first, names, step)
        return results[0] if len(results) == 1 else tuple(results)

    def first_value(self, name, first):
        if isinstance(first, str) and first.strip() in ("w_t", "drawn"):
            return first.strip()
        value = parse(first, self.symbols, self._key) if isinstance(first, str) else self.symbols.lift(first)
        for leaf in leaves(value):
            if leaf.operation != "name":
                continue
            if leaf.value not in self.keys:
                fail(f"memory '{name}': first={text_of(value)} reads '{leaf.value}', which is no key; allowed: a number, \"w_t\", or a formula of keys")
            self.in_first_values.add(leaf.value)
        return value.value if value.operation == "number" and value.value == 0 else text_of(value)

    def _key(self, name):
        return self.value(name, False) if name in self.keys else fail(unknown("key", name, self.keys))

    def hint(self, error):
        """Returns what helps against an error of the file's code."""
        return f". {ALLOWED}" if isinstance(error, TypeError) and "Symbol" in str(error) else super().hint(error)

    def readable(self, place):
        names = super().readable(place)
        return {**names, **dict.fromkeys(self.numbers, False)} if place == "server" else names

    def names(self):
        """Returns all names that a "let" must not have."""
        return GIVEN | set(self.lines) | set(self.numbers)

    def trace(self, place):
        """Runs a place's function. Returns its results as {target: symbol}, and the names of its locals as {id of a symbol: name}.
        Raises MethodError if the place does not allow a result, or lacks a name that the result reads."""
        function = self.functions[place]
        line = self.line_of(function)
        arguments = {name: self._argument(name, place) for name in inspect.signature(function).parameters}
        self.place, self.hints = place, {}
        hints = self.hints
        with locals_of(function, hints):
            returned = self.guarded(lambda: function(**arguments))
        self.place = None
        results = self._results(place, returned, line)
        if place in ("cohort", "weight"):
            results = {target: products.without_sums(self.symbols, value) for target, value in results.items()}
        for target, value in results.items():
            self._check_shape(target, value, line)
            self.check_reads(value, place, line)
            if place == "server":
                self._refuse_mean_of_u(value)
        if place in ("gradient", "after"):
            self.in_steps |= set(results) & set(self.memories)
        return results, hints

    def line_of_also_at(self, name):
        """Returns the line of a function that has that name by also_at."""
        functions = [f for place, f in self.functions.items() if place in ("loss", "measure", "answer")]
        having = [f for f in functions if name in inspect.signature(f).parameters]
        return self.line_of((having or functions)[0])

    def _argument(self, name, place):
        if name == "k" and PLACES[place].has_cohort:
            return Cohort(self, place)
        if name == "root" and place in ROOT_PLACES:
            return Root(self)
        if name in self.constants:
            return self.constants[name]
        readable = self.readable(place)
        if name not in readable:
            self.refuse_name(name, place, "argument", self.line_of(self.functions[place], name))
        return self.value(name, readable[name])

    def check_reads(self, value, place, line):
        """Raises MethodError if a formula reads what its place does not know. line: for a formula that is one name."""
        readable = set(self.readable(place))
        if PLACES[place].has_cohort:
            readable |= {"k." + name for name, is_vector in self.of_cohort(place).items() if place in ("server", "mix") or not is_vector}
        if place in ROOT_PLACES:
            readable |= {"root_norm", *("k." + name for name in ROOT_NUMBERS)}
        for name, where in _names_with_lines(value, line):
            if name not in readable:
                self.refuse_name(name, place, "name", where)

    def check_read_in_steps(self, place, results):
        """Raises MethodError for a memory of a visit that the functions of a step read and do not give."""
        line, target = self.line_of(self.functions[place]), PLACES[place].target
        for name, where in (pair for value in results.values() for pair in _names_with_lines(value, line)):
            if name in self.memories_of("visit") and name not in self.in_steps:
                fail(f"@fh.{place} reads '{name}', a memory of='visit', which no step changes; return {{\"{target}\": …, {name}: …}}", where)

    def _refuse_mean_of_u(self, value):
        """Raises MethodError for fh.mean(u): it is one number, which no server needs."""
        for symbol in operations(value):
            if symbol.operation == "mean" and symbol.arguments[0].operation == "name" and symbol.arguments[0].value == "u":
                fail("fh.mean(u) is one number, the mean of the vector's elements. u itself is the mean of the updates by the run's weights; "
                     "fh.mean(k.u) is their mean with equal weights.", symbol.line)

    def refuse_name(self, name, place, what, line):
        """Raises MethodError for a name that a place's functions do not know."""
        memory, at = self.memories.get(name), f"@fh.{place}"
        if name == "root.u":
            fail(f"{at} reads root.u, the update of the server's own client, as a vector; allowed: fh.dot(k.u, root.u), fh.cos(k.u, root.u), fh.norm(root.u)", line)
        if name.startswith("k."):
            fail(f"{at} reads '{name}', a vector for each client; weights are made of numbers: k.n, fh.norm(k.u), reports", line)
        if name == "k":
            fail(f"{at} cannot read 'k', the cohort; allowed in @fh.server, @fh.cohort, @fh.weight and @fh.mix", line)
        if name in self.reports:
            fail(f"{at} reads report '{name}', which @fh.end returns; at the server it is k.{name}", line)
        if memory and place == "mix":
            fail(f"@fh.mix cannot read '{name}'; allowed: w_t, memories of its client, and sums over the cohort such as fh.sum(p * k.u)", line)
        if self.is_by_class(name) and name in self.at_client() and not PLACES[place].at_server:
            fail(f"{at} cannot read '{name}', a memory by class; allowed in @fh.loss, @fh.measure, @fh.end and @fh.server", line)
        if self.is_of_clients(name) and PLACES[place].at_server:
            fail(f"{at} reads '{name}', a number of each client: it is k.{name}", line)
        if memory and place in ("cohort", "weight"):
            fail(f"{at} reads '{name}', a vector; weights are made of the cohort's numbers: k.n, reports", line)
        if memory and PLACES[place].at_server:
            fail(f"{at} reads '{name}', which stays with a client; a memory of='visit' with up=True is sent, and the server reads it as k.NAME", line)
        if memory and memory["owner"] == "server":
            fail(f"{at} reads '{name}', which stays at the server; declare it with down=True", line)
        if memory and not memory.get("up"):
            fail(f"{at} cannot read '{name}', a memory of='visit'; allowed in @fh.gradient, @fh.after, @fh.second and @fh.end", line)
        if memory:
            fail(f"{at} reads '{name}', which the client only sends; use the value that you return for it", line)
        known = [*self.readable(place), *(["k"] if PLACES[place].has_cohort and what == "argument" else [])]
        fail(unknown(f"{at}'s {what}", name, known), line)

    def _results(self, place, returned, line):
        target = PLACES[place].target
        if returned is None:
            fail(f"@fh.{place} returns nothing; return one value, or a dict {{name: value}}", line)
        if isinstance(returned, (tuple, list)):
            fail(f"@fh.{place} returns a {type(returned).__name__}; return one value, or a dict {{name: value}}", line)
        if not isinstance(returned, dict):
            if target is None:
                kinds = {"cohort": "name", "mix": "memory of a client"}.get(place, "memory or report")
                fail(f"@fh.{place} returns {self._spoken(returned)}; return a dict {{{kinds}: value}}", line)
            returned = {target: returned}
        results = {}
        for given, value in returned.items():
            name = given.value if isinstance(given, Symbol) and given.operation == "name" else given
            self._check_target(place, name, line)
            results[f"k.{name}" if place == "cohort" and self.is_of_clients(name) else name] = self.symbols.lift(value)
        if place == "server" and "w" not in results:
            fail("@fh.server returns no 'w'; return {\"w\": the next model, …}. Without @fh.server the run's own server optimiser steps.", line)
        if place == "gradient" and "g" not in results:
            fail("@fh.gradient returns no 'g'; return {\"g\": the gradient of the step, …}", line)
        if place == "after" and "w" not in results:
            fail("@fh.after returns no 'w'; return {\"w\": the model after the step, …}", line)
        if place == "weight" and len(results) != 1:
            fail("@fh.weight returns several values; return one number for each client", line)
        return results

    def _spoken(self, value):
        return value.spoken() if isinstance(value, Symbol) else repr(value)

    def _check_target(self, place, name, line):
        """Raises MethodError if a place's function may not give `name`."""
        if not isinstance(name, str):
            fail(f"@fh.{place} returns {self._spoken(name)} as a name; a name is a string, a memory or a report", line)
        if place == "cohort":
            if name != "weight" and not self.is_of_clients(name) and (name in GIVEN or name in self.lines or not NAME.fullmatch(name)):
                fail(f"@fh.cohort returns '{name}', which is not a free name; allowed: \"weight\", memories with shape=\"clients\" and new names", line)
            return
        allowed = [PLACES[place].target] if PLACES[place].target else []
        if place == "server":
            allowed += [memory for memory in self.memories_of("server") if not self.is_of_clients(memory)]
            if self.is_of_clients(name):
                fail(f"@fh.server returns '{name}', a number of each client; return {{{name}: …}} from @fh.cohort", line)
        if place in ("gradient", "after"):
            allowed += [memory for memory in self.memories_of("client", "visit") if self.is_model(memory)]
        if place == "mix":
            allowed += [memory for memory in self.memories_of("client") if not self.is_by_class(memory)]
        if place == "end":
            allowed += [memory for memory in self.memories_of("client") + self.sent_up() if memory not in self.measured] + list(self.reports)
            if name in self.measured:
                fail(f"@fh.end and @fh.measure both return '{name}'; only one of them may", line)
            if name in self.memories_of("visit") and name not in allowed:
                fail(f"@fh.end returns '{name}', a memory of='visit', which is lost when the visit ends; declare it with up=True", line)
        if name not in allowed:
            fail(unknown(f"@fh.{place}'s result", name, allowed), line)

    def _check_shape(self, target, value, line):
        if target.startswith("k."):
            if value.is_vector:
                fail(f"{target} = {value.spoken()}: '{target}' must be one number for each client", (not value.is_leaf and value.line) or line)
            return
        expected = (target == "weight", self.shape_of(target) if target in self.memories else target in ("g", "w", "w_2"))
        if value.shape != expected:
            reduced = ". fh.sum or fh.mean makes one value of those of all clients" if value.per_client and not expected[0] else ""
            fail(f"{target} = {value.spoken()}: '{target}' must be {shape_text(*expected)}{reduced}", (not value.is_leaf and value.line) or line)


@contextlib.contextmanager
def locals_of(function, hints):
    """Puts the names of a function's locals into hints when it returns."""
    def look(frame, event, _):
        if event == "return" and frame.f_code is function.__code__:
            for name, value in frame.f_locals.items():
                if isinstance(value, Symbol) and not value.is_leaf:
                    hints.setdefault(id(value), name)
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def leaves(value):
    """Yields the names and numbers of a formula, each once."""
    for symbol in operations(value):
        if symbol.is_leaf:
            yield symbol


def operations(value):
    """Yields the symbols of a formula, each once."""
    seen, stack = set(), [value]
    while stack:
        symbol = stack.pop()
        if id(symbol) not in seen:
            seen.add(id(symbol))
            stack.extend(symbol.arguments)
            yield symbol


def _names_with_lines(value, line):
    """Yields a formula's names, with the line of an operation on each."""
    if value.operation == "name":
        yield value.value, line
    for symbol in operations(value):
        for argument in symbol.arguments:
            if argument.operation == "name":
                yield argument.value, symbol.line or line
