"""The declarations of a method file: keys, memories, reports, and functions for places. Subclasses define the values of declared names."""
import inspect

from .by_class import SHAPES
from .context import current, fail, unknown, user_line
from .grammar import MOST_LETTERS, NAME, is_finite_number
from .places import CLIENT_COLUMNS, COHORT_NUMBERS, GIVEN, PLACES, PYTHON_ARGUMENTS, SECTION_KEYS

_OWNERS = ("server", "client", "visit")


class Declarations:
    """One method file while it is read. Subclasses define the value of a declared name (`value`) and the result of a function (`call`)."""

    def __init__(self, path, filename):
        """path: as the user gave it, for messages; filename: that of the file's code objects."""
        self.path, self.filename = path, filename
        self.keys, self.constants, self.memories, self.reports, self.functions = {}, {}, {}, {}, {}
        self.python = {}  # functions that Python runs, by place
        self.lines = {}  # of declarations
        self.in_steps = set()  # memories that @fh.gradient and @fh.after give
        self.second_batch = ""
        self.products_of = ""  # "u" or the memory whose inner products it takes; empty: none
        self.losses_at = {}  # {name: "w_t" or a memory}
        self.measured = set()  # memories that @fh.measure gives
        self.also_at = {}  # of functions of an example: {name: "w_t", "w_0" or a memory}

    def value(self, name, is_vector):
        """Returns the value of a declared name in the file."""
        raise NotImplementedError

    def first_value(self, name, first):
        """Returns a memory's first value as the box says it. Raises MethodError if it is none."""
        raise NotImplementedError

    def cohort_value(self, name, is_vector):
        """Returns the value of k.NAME, one for each client."""
        raise NotImplementedError

    def declare(self, name):
        """Reserves a name. Raises MethodError if it is no name, or used already."""
        if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > MOST_LETTERS:
            fail(f"{name!r} is not a name; allowed: an English letter or _, then letters, digits and _, {MOST_LETTERS} at most")
        if name in GIVEN:
            fail(f"'{name}' is a name of fedhive's own; choose another")
        if name in self.lines:
            fail(f"'{name}' is declared twice, first in line {self.lines[name]}")
        self.lines[name] = user_line()

    def add_key(self, name, default, bounds, integer, doc, static):
        """Declares a number that a config sets. bounds: {"least"|"most"|"above"|"below": number or None}."""
        self.declare(name)
        if name in SECTION_KEYS:
            fail(f"key '{name}': the section strategy has a key of this name; choose another")
        for what, number in {"default": default, **bounds}.items():
            if number is not None and not is_finite_number(number):
                fail(f"key '{name}': {what}={number!r} is not a finite number")
        for one, other in (("least", "above"), ("most", "below")):
            if bounds[one] is not None and bounds[other] is not None:
                fail(f"key '{name}': {one}={bounds[one]} and {other}={bounds[other]} are both given; give one of them")
        keeps = {"least": lambda bound: default >= bound, "above": lambda bound: default > bound,
                 "most": lambda bound: default <= bound, "below": lambda bound: default < bound}
        for what, bound in bounds.items():
            if bound is not None and not keeps[what](bound):
                fail(f"key '{name}': its default {default} is outside {what}={bound}")
        if integer and default != int(default):
            fail(f"key '{name}': its default {default} is not a whole number, but integer=True")
        if static:
            self.constants[name] = default
            return default
        if not isinstance(doc, str):
            fail(f"key '{name}': doc={doc!r} is not a string")
        self.keys[name] = _without_empty(name=name, default=default, **bounds, integer=bool(integer), doc=doc)
        return self.value(name, False)

    def add_memory(self, name, of, first, down, up, shape, simplex=False):
        """Declares a vector that lives beside the model, of its shape or by class."""
        self.declare(name)
        if of not in _OWNERS:
            fail(unknown(f"memory '{name}': owner", str(of), _OWNERS))
        if up and of != "visit":
            fail(f"memory '{name}': up=True is for a memory of='visit'; a memory of='{of}' is not sent up")
        if down and of != "server":
            fail(f"memory '{name}': down=True is for a memory of='server'; a memory of='{of}' is not sent down")
        first = self.first_value(name, first)
        if shape == "clients":
            self._check_of_clients(name, of, first, down, simplex)
        elif simplex:
            fail(f"memory '{name}': simplex=True is for shape=\"clients\"")
        if first == "w_t" and of == "server":
            fail(f"memory '{name}': first=\"w_t\" is for a memory of='client' or of='visit', not of='{of}'")
        if first == "drawn" and not down:
            fail(f"memory '{name}': first=\"drawn\" is for a memory of='server' with down=True")
        if shape == "number":
            down = self._check_number(name, of, first)
        elif shape not in ("model", "clients"):
            self._check_by_class(name, shape, of, first, down, up)
        elif shape == "model" and first not in (0, "w_t", "drawn") and (of != "server" or down):
            fail(f"memory '{name}': first={first} is for a number, or for a memory of='server' without down=True. Other memories begin as 0; "
                 "those of a client or a visit may have first=\"w_t\", those of the server first=\"drawn\"")
        self.memories[name] = {"name": name, "owner": of, "first": first,
                               **_without_empty(down=bool(down), up=bool(up), shape="" if shape == "model" else shape, simplex=bool(simplex))}
        return self.value(name, self.shape_of(name))

    def _check_by_class(self, name, shape, of, first, down, up):
        if shape not in SHAPES:
            fail(unknown(f"memory '{name}': shape", str(shape), ("model", *SHAPES, "number", "clients")))
        if of == "server" and not down or of == "visit" and not up:
            fail(f"memory '{name}': shape=\"{shape}\" of='{of}' must be sent; add {'down' if of == 'server' else 'up'}=True")
        if first != 0:
            fail(f"memory '{name}': first={first} is not allowed; a memory by class begins as 0")

    def _check_of_clients(self, name, of, first, down, simplex):
        if of != "server":
            fail(f"memory '{name}': shape=\"clients\" is a number of each client that the server keeps; allowed with of='server'")
        if down:
            fail(f"memory '{name}': shape=\"clients\" stays at the server; leave out down=True")
        if not is_finite_number(first) or simplex and first:
            fail(f"memory '{name}': first={first} is not allowed for shape=\"clients\"; allowed: a number; with simplex=True none, as each begins as 1 / clients")

    def _check_number(self, name, of, first):
        """Returns whether the number is sent down: the server's is. Raises MethodError."""
        if of == "visit":
            fail(f"memory '{name}': a number that a visit sends is a report; write fh.report('{name}')")
        if first in ("w_t", "drawn"):
            fail(f"memory '{name}': first=\"{first}\" is not allowed for shape=\"number\"; allowed: a number, or a formula of keys")
        return of == "server"

    def shape_of(self, name):
        """Returns a memory's shape in formulas of parameters: True, False for a number, or a ByClass."""
        return False if self.is_number(name) or self.is_of_clients(name) else SHAPES.get(self.memories[name].get("shape"), True)

    def is_number(self, name):
        """Says whether it is a memory that is a number."""
        return self.memories.get(name, {}).get("shape") == "number"

    def is_model(self, name):
        """Says whether it is a memory of the model's shape."""
        return name in self.memories and "shape" not in self.memories[name]

    def is_of_clients(self, name):
        """Says whether it is a number of each client that the server keeps."""
        return self.memories.get(name, {}).get("shape") == "clients"

    def is_by_class(self, name):
        """Says whether it is a memory by class."""
        return self.memories.get(name, {}).get("shape") in SHAPES

    def add_loss_at(self, name, at):
        """Declares the loss of a client's examples at a vector that it has before it trains."""
        self.declare(name)
        vector = at if isinstance(at, str) else getattr(at, "value", None)
        known = ["w_t", *(m for m in self.at_client() if self.is_model(m))]
        if vector not in known:
            fail(unknown(f"fh.loss_at('{name}', …): the vector", str(vector), known))
        self.losses_at[name] = vector
        return self.value(name, False)

    def add_report(self, name, doc):
        """Declares a number that a client sends beside its update."""
        self.declare(name)
        if name in CLIENT_COLUMNS:
            fail(f"report '{name}': clients.csv has a column of this name; choose another")
        if not isinstance(doc, str):
            fail(f"report '{name}': doc={doc!r} is not a string")
        self.reports[name] = _without_empty(name=name, doc=doc)
        return self.value(name, False)

    def add_function(self, place, function, python=False):
        """Adds the function of a place. python: Python runs it. Raises MethodError if the place has one already."""
        if not inspect.isfunction(function):
            fail(f"@fh.{place} stands before a function, not before {function!r}")
        other = self.functions.get(place) or self.python.get(place)
        if other:
            fail(f"two functions have @fh.{place}: '{other.__name__}' and '{function.__name__}'", function.__code__.co_firstlineno)
        (self.python if python else self.functions)[place] = function
        return function

    def memories_of(self, *owners):
        """Returns the names of the memories of some owners."""
        return [name for name, memory in self.memories.items() if memory["owner"] in owners]

    def at_client(self):
        """Returns the names of the memories that a client has before it trains."""
        return [*self.memories_of("client"), *(name for name in self.memories_of("server") if self.memories[name].get("down"))]

    def sent_up(self):
        """Returns the names of the memories that are sent up."""
        return [name for name, memory in self.memories.items() if memory.get("up")]

    def readable(self, place):
        """Returns the names that a place's functions may read beside the cohort: {name: is it a vector?}."""
        names = {**dict.fromkeys(PLACES[place].vectors, True), **dict.fromkeys(PLACES[place].numbers, False), **dict.fromkeys(self.keys, False)}
        if place == "server":
            names.update({name: self.shape_of(name) for name in [*self.memories_of("server"), *self.sent_up()] if not self.is_of_clients(name)})
        elif place in ("cohort", "weight"):
            names.update({name: False for name in self.memories_of("server") if self.is_number(name)})
        elif place == "mix":
            names.update({name: False for name in self.memories_of("server") if self.is_number(name)})
            names.update({name: self.shape_of(name) for name in self.memories_of("client") if not self.is_by_class(name)})
        elif not PLACES[place].at_server:
            names.update({name: self.shape_of(name) for name in self.at_client() if place == "end" or not self.is_by_class(name)})
            if place in ("gradient", "after"):
                names.update({name: True for name in self.memories_of("visit") if not self.is_by_class(name)})
            elif place in ("second", "end"):
                names.update(dict.fromkeys(self.in_steps, True))
            if place != "judge":
                names.update(dict.fromkeys(self.losses_at, False))
            if place == "end":
                names.update({name: self.shape_of(name) for name in self.measured})
                if any(self.is_by_class(name) for name in self.memories):
                    names["counts"] = SHAPES["classes"]
        if place == "gradient" and "second" not in self.functions:
            del names["g_2"]
        return names

    def of_cohort(self, place):
        """Returns the attributes of the cohort k at a place, one value for each client: {name: is it a vector?}."""
        return {**dict.fromkeys(COHORT_NUMBERS, False), **(dict.fromkeys(("me", "id", "their_loss"), False) if place == "mix" else {}), **dict.fromkeys(self.reports, False), "u": True,
                **{name: False for name in self.memories_of("server") if self.is_of_clients(name) and place != "mix"},
                **{name: self.shape_of(name) for name in self.sent_up()}}


def _without_empty(**values):
    return {name: value for name, value in values.items() if value is not None and value is not False and value != ""}


def key(name, default, least=None, most=None, above=None, below=None, doc="", static=False, integer=False):
    """Declares the config key strategy.NAME, a number, and returns it for formulas.

    least, most, above, below: bounds; integer: only whole numbers. With static=True it is the Python number `default`, for `range(…)` and `if`;
    a config cannot change it. Raises MethodError for a bad name, and for a default outside the bounds.
    """
    return current().add_key(name, default, dict(least=least, above=above, most=most, below=below), integer, doc, static)


def memory(name, of, first=0, down=False, up=False, shape="model", simplex=False):
    """Declares a memory: a vector of the model's shape, a table by class, or a number. Returns it for formulas.

    of: "server"; "client", one for each client; "visit", one client's in one round.
    first: its first value: a number, "w_t", "drawn" (another random model), or a formula of keys.
    down: the server sends it to clients. up: a visit sends it to the server.
    shape: "model"; "number" (a server's is always sent down); or, with a row or a number for each class, "features" [C, d], "logits" [C, C] or
    "classes" [C]; or "clients" [N], a number for each client of the run, which the server keeps: k.NAME in functions of the cohort, set by @fh.cohort.
    simplex: the numbers of all clients are moved to the closest point of the simplex after each round; each begins as 1 / N.
    Raises MethodError if the arguments contradict each other.
    """
    return current().add_memory(name, of, first, down, up, shape, simplex)


def loss_at(name, at):
    """Declares a number of a client: the mean loss of its training examples before training, at "w_t" or at a memory that it reads.

    It costs a forward pass. Raises MethodError for another vector.
    """
    return current().add_loss_at(name, at)


def report(name, doc=""):
    """Declares a number that @fh.end returns and the client sends; the server reads it as k.NAME. Raises MethodError for a bad name."""
    return current().add_report(name, doc)


def _decorator(place, function, options):
    file, python = current(), options.pop("python", False)
    if python and place not in PYTHON_ARGUMENTS:
        fail(f"@fh.{place}(python=True): Python runs {' and '.join(f'@fh.{one}(python=True)' for one in PYTHON_ARGUMENTS)}, a rule over the updates of a round "
             "and a client's whole work; @fh." + place + " is a formula")
    if options:
        fail(f"@fh.{place} takes no options{' but python=True' if place in PYTHON_ARGUMENTS else ''}, not {', '.join(options)}")
    if function is not None:
        return file.add_function(place, function)
    return lambda later: file.add_function(place, later, python)


def gradient(function=None, **options):
    """The gradient of a local step, before the optimiser. The function returns g, or {"g": g, memory of a client or a visit: its new value}."""
    return _decorator("gradient", function, options)


def after(function=None, **options):
    """The model after each local step. The function returns w, or {"w": w, memory of a client or a visit: its new value}."""
    return _decorator("after", function, options)


def second(function=None, batch="same", **options):
    """The point of a step's second gradient, g_2. The function returns w_2. batch: "same", or "next" for the next step's batch."""
    if batch not in ("same", "next"):
        fail(f"@fh.second(batch={batch!r}): allowed: \"same\", \"next\"")
    current().second_batch = "" if batch == "same" else batch
    return _decorator("second", function, options)


def judge(function=None, **options):
    """A client's own model, for the evaluation of clients. The function returns w."""
    return _decorator("judge", function, options)


def loss(function=None, also_at=None, **options):
    """The loss of an example. The function returns one number, from out, y, counts and numbers.

    also_at: {name: "w_t", "w_0" or a memory}. The argument of that name has the logits and features of the same example, computed by a model with
    these parameters in evaluation mode, without gradient.
    """
    _other_models("loss", also_at)
    return _decorator("loss", function, options)


def _other_models(place, also_at):
    file = current()
    if also_at is not None and not isinstance(also_at, dict):
        fail(f"@fh.{place}: also_at={also_at!r}; allowed: a dict {{name: \"w_t\", \"w_0\" or a memory}}")
    for name, at in (also_at or {}).items():
        if name in file.also_at and file.also_at[name] is not at and file.also_at[name] != at:
            fail(f"@fh.{place}: also_at names '{name}', which another function uses for another vector; choose another name")
        file.also_at[name] = at


def measure(function=None, also_at=None, **options):
    """Values of an example, from out, y, counts and numbers. The function returns {memory by class with up=True, or a client's number: value}.

    The values are summed over the client's examples, for each class or over all, at the trained model in evaluation mode. also_at: as in @fh.loss.
    """
    _other_models("measure", also_at)
    return _decorator("measure", function, options)


def answer(function=None, also_at=None, **options):
    """A client's own scores for an example, one for each class. They replace the logits `out` of @fh.judge's model. also_at: as in @fh.loss."""
    _other_models("answer", also_at)
    return _decorator("answer", function, options)


def start(function=None, **options):
    """The model at the start of a visit. The function returns w."""
    return _decorator("start", function, options)


def end(function=None, **options):
    """The memories and reports of a client after its local training. The function returns {memory or report: value}."""
    return _decorator("end", function, options)


def cohort(function=None, **options):
    """Numbers of the cohort for @fh.server. The function returns {name: value}; "weight" has one number for each client."""
    return _decorator("cohort", function, options)


def weight(function=None, **options):
    """The weight of each update. u is the sum of weight * k.u, not divided by the sum of weights."""
    return _decorator("weight", function, options)


def mix(function=None, **options):
    """A client's memories from all updates of the round. The function returns {memory of a client: value}, from w_t, the client's memories and
    fh.sum(p * k.u).

    p: a number for each update. k.me: 1 for the client itself, else 0. k.id: the clients' ids. k.their_loss: the loss of each update's model on the
    client's examples.
    """
    return _decorator("mix", function, options)


def server(function=None, **options):
    """The server's step. The function returns w, or {"w": w, memory: value}.

    python=True: Python runs the function once a round. It returns the round's update, an array [P], for the run's server optimiser.
    """
    return _decorator("server", function, options)


def visit(function=None, **options):
    """A client's whole work in a round, run by Python: @fh.visit(python=True)."""
    if not options.get("python"):
        fail("@fh.visit: Python runs a client's whole work: write @fh.visit(python=True). Formulas of a visit are @fh.start, @fh.gradient, @fh.end")
    return _decorator("visit", function, options)
