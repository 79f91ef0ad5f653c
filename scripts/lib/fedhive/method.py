"""Reads a method file and prints its box: keys, memories and formulas as data, which the program compiles.

usage: python3 -m fedhive.method FILE [--as server|visit] [--out BOX]

Prints one JSON object to standard output, or writes it to the file BOX. --as: the file has only this function, which Python runs (strategy.rule,
strategy.visit). A mistake in the file is printed as FILE:LINE: text, with exit status 2.
"""
import ast
import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path

from . import own_code
from .context import MethodError, fail, reading
from .grammar import FURTHER, MOST_BYTES
from .losses import AnswerTrace, LossTrace, MeasureTrace
from .lowering import Lowering
from .places import CLIENT_PLACES, PLACES, PYTHON_ARGUMENTS
from .source import has_python
from .text import lines_of
from .tracer import Tracer, leaves

BOX_VERSION = 1


def box_of(path, alone=None):
    """Returns the box of a method file as a dict.

    path: the file's name in messages. The file's code runs once, with standard output redirected to standard error. alone: the place of its only
    function, which Python runs. Raises MethodError for a mistake in the file, and for a file that cannot be read.
    """
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        raise MethodError(f"{path}: cannot be read: {error.strerror}") from None
    some_python, all_python = has_python(source)
    kind = own_code.Running if alone or all_python else Tracer
    file = kind(str(path), os.path.abspath(path))
    with reading(file), contextlib.redirect_stdout(sys.stderr):
        file.run_file(source, imports=bool(alone or some_python))
        if alone:
            own_code.take_unmarked(file, alone)
            own_code.check_alone(file, alone)
        if not file.functions and not file.python:
            fail(f"the file declares no method: write a function under one of {', '.join('@fh.' + place for place in PLACES)}, @fh.visit(python=True)" + own_code.unmarked_hint(file))
        return _Box(file).data(source)


class _Box:
    """Builds a box: formulas, and the places that read and set each name."""

    def __init__(self, file):
        self.file = file
        self.given = set()
        self.readers = {}    # name: targets whose formulas read it
        self.at_client = set()
        self.uniform = False
        self.also_at = {}    # of functions of an example, as far as they read it
        self.lines = {}      # place: lines

    def data(self, source):
        """Returns the box. Raises MethodError."""
        python = own_code.part_of_box(self.file)
        if "visit" in python:  # it reads and gives what travels, and the reports
            self.given.update(self.file.sent_up(), self.file.reports)
            self.at_client.update(self.file.at_client())
            for name in self.file.at_client():
                self.readers.setdefault(name, set()).add("visit")
        if "measure" in self.file.functions:
            self.of_examples(MeasureTrace(self.file))
        in_steps = []
        for place in CLIENT_PLACES:
            if place in self.file.functions:
                results, hints = self.file.trace(place)
                if place in ("gradient", "after"):
                    in_steps.append((place, results))
                self.put(place, results, hints)
        for place, results in in_steps:
            self.file.check_read_in_steps(place, results)
        if "second" in self.lines and "g_2" not in self.readers:
            fail("@fh.second says where g_2 is taken, but no @fh.gradient reads g_2; read it there or remove @fh.second", self.file.line_of(self.file.functions["second"]))
        for place, kind in (("loss", LossTrace), ("answer", AnswerTrace)):
            if place in self.file.functions:
                self.of_examples(kind(self.file))
        for name, vector in self.file.losses_at.items():
            self.readers.setdefault(vector, set()).add(name)
            self.at_client.add(vector)
        if self.file.functions:
            self.server()
        self.check_memories()
        self.check_others()
        own_code.check_imports(python)
        memories = [{**memory} for name, memory in self.file.memories.items() if name not in python.get("visit", {}).get("memories", {})]
        formulas = [line for lines in self.lines.values() for line in lines] + [str(memory["first"]) for memory in memories]
        size = len("\n".join(formulas).encode())
        if size > MOST_BYTES:
            fail(f"its formulas have {size} bytes; allowed: {MOST_BYTES}. Loops over constants are unrolled; use fewer steps.")
        box = {"version": BOX_VERSION, "method": Path(self.file.path).stem, "doc": _doc(self.file.tree, source),
               "weighting": "uniform" if self.uniform else "", "keys": list(self.file.keys.values()), "memories": memories,
               "reports": list(self.file.reports.values()), "second_batch": self.file.second_batch, "products_of": "" if self.file.products_of == "u" else self.file.products_of, "also_at": self.also_at, "losses_at": self.file.losses_at,
               **self.lines, "python": python,
               "source_sha256": hashlib.sha256(source).hexdigest()}
        return {name: value for name, value in box.items() if value not in ("", [], {})}

    def of_examples(self, trace):
        """Makes the formulas of an example at a place."""
        if trace.place == "measure":
            self.file.measured = set(trace.results)
        for name, vector in trace.also_at.items():
            if name in trace.read:
                self.also_at[name] = vector
                self.readers.setdefault(vector, set()).add(trace.place)
                self.at_client.add(vector)
        self.put(trace.place, trace.results, trace.hints, trace.taken())

    def server(self):
        """Makes the formulas of the cohort and of the server."""
        results, hints = {}, {}
        for place in ("cohort", "weight", "server"):
            if place in self.file.functions:
                results[place], names = self.file.trace(place)
                hints = {**names, **hints}
                if place == "cohort":
                    self.file.numbers = {name: e for name, e in results[place].items() if name != "weight" and not name.startswith("k.")}
        if "weight" in results.get("cohort", {}) and "weight" in results:
            fail("@fh.cohort and @fh.weight both return the weight; only one of them may", self.file.line_of(self.file.functions["weight"]))
        lowering = Lowering(self.file, results, hints)
        self.uniform = lowering.is_uniform
        self.file.numbers = {name: e for name, e in lowering.cohort.items() if name != "weight" and name not in FURTHER and not name.startswith("k.")}
        self.put("cohort", lowering.cohort, hints)
        self.put("server", lowering.server, lowering.server_hints())

        if "mix" in self.file.functions:
            results, hints = self.file.trace("mix")
            lowering = Lowering(self.file, {"server": results}, hints)
            for name in results:
                if name in self.given:
                    fail(f"@fh.mix and the client's visit both return memory '{name}'; only one of them may", self.file.line_of(self.file.functions["mix"]))
            self.put("peers", lowering.peers(), hints)
            self.put("mix", lowering.server, lowering.server_hints())

    def put(self, place, results, hints, taken=None):
        """Adds a place's formulas. taken: names that a "let" must not have; by default all names of the file."""
        self.given.update({target.removeprefix("k."): e for target, e in results.items()})
        for target, e in results.items():
            target = target.removeprefix("k.")
            for leaf in leaves(e):
                if leaf.operation == "name":
                    before, _, behind = leaf.value.partition(".")
                    name = behind if before == "k" or before in FURTHER else leaf.value
                    self.readers.setdefault(name, set()).add(target)
                    if place in CLIENT_PLACES + ("loss", "measure", "answer"):
                        self.at_client.add(name)
        if results:
            self.lines[place] = lines_of(results, hints, taken or self.file.names())

    def check_memories(self):
        """Raises MethodError for a memory that is never set or never read."""
        for name, memory in self.file.memories.items():
            line = self.file.lines[name]
            if memory["owner"] == "client" and "visit" in self.file.python:
                continue
            if name not in self.given:
                place = "cohort" if self.file.is_of_clients(name) else "server" if memory["owner"] == "server" else "gradient" if memory["owner"] == "visit" and not memory.get("up") else "end"
                place += " or @fh.measure" if self.file.is_by_class(name) and memory.get("up") else ""
                fail(f"memory '{name}' never gets a value; return {{{name}: …}} from @fh.{place}", line)
            if not self.readers.get(name, set()) - {name} and name != self.file.products_of:
                fail(f"memory '{name}' is read for its own next value at most, so nothing depends on it; read it or remove it", line)
            if memory.get("down") and not self.file.is_number(name) and name not in self.at_client:
                fail(f"memory '{name}' goes down, but no function of the client reads it; leave out down=True", line)

    def check_others(self):
        """Raises MethodError for a report that is never set, and for a key or a number of the cohort that is never read."""
        for name in self.file.reports:
            if name not in self.given and "visit" not in self.file.python:
                fail(f"report '{name}' is never given a value: return {{{name}: …}} from @fh.end", self.file.lines[name])
        for name in self.file.also_at:
            if name not in self.also_at:
                fail(f"also_at names '{name}', but nothing reads {name}.logits or {name}.z", self.file.line_of_also_at(name))
        for name in self.file.losses_at:
            if name not in self.readers:
                fail(f"'{name}', the loss at {self.file.losses_at[name]}, is never read; read it or remove it", self.file.lines[name])
        for name in self.file.keys:
            if name not in self.readers and name not in self.file.in_first_values and not self.file.python:  # which may read it as the file's own name
                fail(f"key '{name}' is never read", self.file.lines[name])
        for name in self.file.numbers:
            if "server" not in self.lines or name not in self.readers:
                fail(f"@fh.cohort returns '{name}', but @fh.server never reads it", self.file.line_of(self.file.functions["cohort"]))


def _doc(tree, source):
    """Returns the first line of the file's docstring, or of the comment that it begins with."""
    text = ast.get_docstring(tree)
    if text:
        return text.splitlines()[0].strip()
    for line in source.decode("utf-8-sig", "replace").splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            break
        comment = line.lstrip("#").strip()
        if comment and not line.startswith("#!") and "coding:" not in line:
            return comment
    return ""


def main(arguments):
    """Prints the box of the file that the command line names, or writes it to the file behind --out. Returns the exit status."""
    asked = arguments in (["-h"], ["--help"])
    options = dict(zip(arguments[1::2], arguments[2::2]))
    if len(arguments) % 2 == 0 or arguments[0].startswith("-") or options.keys() - {"--as", "--out"} or options.get("--as", "visit") not in PYTHON_ARGUMENTS:
        print(__doc__.strip(), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    try:
        box = box_of(arguments[0], options.get("--as"))
    except MethodError as error:
        print(error, file=sys.stderr)
        return 2
    text = (json.dumps(box, indent=1, ensure_ascii=False) + "\n").encode()
    if "--out" in options:
        Path(options["--out"]).write_bytes(text)
    else:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
