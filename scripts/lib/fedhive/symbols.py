"""Symbols: the arguments of a method file's functions, in place of numbers and vectors. An operation on symbols is a new symbol.

A symbol has one of four shapes: a number or a vector of the model's shape, one or one for each client of the cohort; in place of a vector it may be
by class (by_class.py); or it is of an example (rows.py). is_vector then says which. Symbols are interned: the same operation on the same symbols is
the same object.
"""
from .context import Arithmetic, fail, unknown, user_line
from . import by_class, products, rows
from .grammar import (ALLOWED, FUNCTIONS, IN_COHORT, OF_PRODUCTS, OF_VECTORS, OPERATORS, OVER_COHORT, PYTHON_FUNCTIONS, ROW_FUNCTIONS, is_finite_number)
from .text import short_text

MOST_OPERATIONS_DEEP = 200  # of what Python builds, before it is cut into lines; bounds recursion

_UFUNCS = {"absolute": "abs", "add": "+", "subtract": "-", "sub": "-", "multiply": "*", "mul": "*", "divide": "/", "true_divide": "/", "div": "/",
           "power": "^", "pow": "^", "float_power": "^", "remainder": "%", "negative": "negative", "neg": "negative",
           "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}


def shape_text(per_client, is_vector):
    """Returns a shape in words."""
    if rows.is_row_kind(is_vector):
        return rows.SPOKEN[is_vector]
    of_vector = by_class.SPOKEN[is_vector.name] if by_class.is_by_class(is_vector) else "a vector of the model's shape"
    return (of_vector if is_vector else "a number") + (" for each client of the cohort" if per_client else "")


class Symbol(Arithmetic):
    """A value that is known only during a run. operation: "name" and "number" (with a value), an operator, "negative", a function, or, of fh.repeat, "turn"
    and "repeat" (repeats.py)."""

    __slots__ = ("symbols", "operation", "arguments", "per_client", "is_vector", "value", "depth", "line")

    def __init__(self, symbols, operation, arguments, per_client, is_vector, value):
        self.symbols, self.operation, self.arguments = symbols, operation, arguments
        self.per_client, self.is_vector, self.value = per_client, is_vector, value
        self.depth = 1 + max((a.depth for a in arguments), default=0)
        self.line = None

    @property
    def is_leaf(self):
        """Says whether it is a name, a number or what a turn of fh.repeat begins with."""
        return self.operation in ("name", "number", "turn")

    @property
    def shape(self):
        """Its shape as (one for each client?, a vector?)."""
        return self.per_client, self.is_vector

    def spoken(self):
        """Returns its text, shortened, and its shape."""
        return f"'{short_text(self)}' ({shape_text(*self.shape)})"

    def _refuse(self, what, instead):
        fail(f"{what}: {self.spoken()} is a symbol here; its value is known only during a run. {instead}")

    def __bool__(self):
        self._refuse("`if`, `while`, `and`, `or`, `not`, max() or min() needs a value",
                     "Write fh.where(condition, then, otherwise), `*` for and, fh.maximum and fh.minimum. "
                     "For a choice before the run, fh.key(…, static=True) gives a Python number.")

    def __float__(self):
        self._refuse("float() or a function of Python's math needs a value", ALLOWED)

    __int__ = __index__ = __complex__ = __float__

    def __iter__(self):
        self._refuse("a loop needs values", "Formulas are elementwise; for the cohort use fh.sum, fh.mean, fh.max, fh.softmax.")

    def __len__(self):
        self._refuse("len() needs a value", "The cohort's size is k.count.")

    def __getitem__(self, index):
        if rows.is_row_kind(self.is_vector) and isinstance(index, Symbol) and index.value == rows.LABEL:
            return self.symbols.call("pick", self, index)
        if self.is_vector in rows.ROWS:
            fail(f"{self.spoken()}: its only index is the label: P[y]; fh.dot(out.z, P), fh.cos(out.z, P) and fh.norm(P) read all rows")
        if self.operation == "name" and isinstance(index, Symbol) and index.value == rows.LABEL:
            fail(f"'{self.value}' is no argument of the function, so it has no row of the label; write def loss(…, {self.value}), then {self.value}[y]")
        self._refuse("an index needs a value", "Formulas treat all elements of a vector alike. " + ALLOWED)

    def __setitem__(self, *_):
        self._refuse("an assignment to elements needs a value", "Return new values; fh.where chooses by element.")

    def __array__(self, *_, **__):
        self._refuse("an array of NumPy needs values", ALLOWED)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        instead = f"Write fh.{name}(…). " if name in PYTHON_FUNCTIONS else ""
        fail(f"{self.spoken()} has no '{name}'. {instead}{ALLOWED}")

    def __array_ufunc__(self, ufunc, method, *arguments, **options):
        return self.symbols.foreign(ufunc.__name__, arguments if method == "__call__" and not options else None)

    def __array_function__(self, function, _, arguments, options):
        return self.symbols.foreign(function.__name__, None if options else arguments)

    @classmethod
    def __torch_function__(cls, function, _, arguments=(), options=None):
        symbol = next(a for a in arguments if isinstance(a, cls))
        return symbol.symbols.foreign(function.__name__, None if options else arguments)


class Symbols:
    """The symbols of one file."""

    def __init__(self):
        self._interned = {}

    def name(self, text, per_client=False, is_vector=False):
        """Returns the symbol of a name and a shape."""
        return self._intern("name", (), per_client, is_vector, text)

    def number(self, value):
        """Returns the symbol of a finite Python number."""
        return self._intern("number", (), False, False, value)

    def call(self, function, *arguments):
        """Returns the result of an operator or of one of fh's functions, by its name in Python: "sum" is over the cohort or over elements.
        Raises MethodError if shapes do not fit."""
        arguments = [self.lift(a) for a in arguments]
        of_examples = any(rows.is_row_kind(a.is_vector) for a in arguments)
        product = None if of_examples else products.of_updates(self, function, arguments)
        if product is not None:
            return product
        products.refuse_others(function, arguments[0])
        if not of_examples and f"{function}_k" in FUNCTIONS and f"{function}_k" not in OF_PRODUCTS and (arguments[0].per_client or function not in OF_VECTORS):
            function += "_k"
        if function == "norm" and arguments[0].operation == "name" and arguments[0].value == "k.u":
            return self.name("k.norm", per_client=True)
        return self.build(function, *arguments)

    def build(self, operation, *arguments, line=None):
        """Returns the symbol of an operation, as a formula's text says it. Raises MethodError if shapes do not fit."""
        shape = self._shape(operation, arguments)
        symbol = self._intern(operation, arguments, *shape)
        symbol.line = line or user_line() or symbol.line
        if symbol.depth > MOST_OPERATIONS_DEEP:
            fail(f"more than {MOST_OPERATIONS_DEEP} nested operations; a loop over constants is unrolled. Use fewer steps.")
        return symbol

    def rebuilt(self, e, arguments):
        """Returns the symbol of e's operation on other arguments."""
        result = self.repeated(arguments, e.value) if e.operation == "repeat" else self.build(e.operation, *arguments, line=e.line)
        result.line = e.line or result.line
        return result

    def turn(self, name, per_client):
        """Returns a new variable of fh.repeat."""
        return Symbol(self, "turn", (), per_client, False, name)

    def repeated(self, arguments, i):
        """Returns result i of fh.repeat with these arguments (repeats.py)."""
        symbol = self._intern("repeat", tuple(arguments), arguments[1 + i].per_client, False, i)
        symbol.line = symbol.line or user_line()
        return symbol

    def lift(self, value):
        """Returns a Python number as a symbol. Raises MethodError for anything else."""
        if isinstance(value, Symbol):
            if value.symbols is not self:
                fail(f"{value.spoken()} belongs to another method file")
            return value
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            fail(f"{' '.join(repr(value).split())[:60]} in a formula. Allowed are numbers, names, operators and fh's functions.")
        if not is_finite_number(value):
            fail(f"{repr(value)[:40]} in a formula. Numbers must be finite.")
        return self.number(value)

    def foreign(self, name, arguments):
        """Returns the result of a function of NumPy or PyTorch if fh has one of the same name. arguments: None for another form of call.
        Raises MethodError otherwise."""
        function = _UFUNCS.get(name, name)
        if arguments is not None and function in PYTHON_FUNCTIONS + ["negative", *OPERATORS, *ROW_FUNCTIONS] and function != "clip":
            return self.call(function, *arguments)
        if name in PYTHON_FUNCTIONS:
            fail(f"'{name}' of NumPy or PyTorch has arguments that formulas do not know; write fh.{name}(…). {ALLOWED}")
        fail(unknown("NumPy or PyTorch on a traced value: function", name, PYTHON_FUNCTIONS))

    def _intern(self, operation, arguments, per_client, is_vector, value=None):
        key = (operation, tuple(id(a) for a in arguments), per_client, is_vector, repr(value))
        if key not in self._interned:
            self._interned[key] = Symbol(self, operation, tuple(arguments), per_client, is_vector, value)
        return self._interned[key]

    def _shape(self, operation, arguments):
        """Returns the shape of an operation's result. Raises MethodError if the arguments' do not fit."""
        if any(rows.is_row_kind(a.is_vector) for a in arguments):
            return False, rows.shape(operation, arguments)
        rows.refuse_elsewhere(operation, arguments)
        first, spoken = arguments[0], f"fh.{operation[:-2] if operation.endswith('_k') else operation} of "
        if operation in OVER_COHORT or operation in IN_COHORT:
            if not first.per_client:
                fail(f"{spoken}{first.spoken()}: it takes one value for each client, such as k.n or k.u")
            if first.is_vector and operation not in ("sum_k", "mean_k"):
                fail(f"{spoken}{first.spoken()}: it takes one number for each client. Vectors have fh.sum and fh.mean; "
                     "for a rule by column set the aggregator of the run (aggregator: median).")
            return operation in IN_COHORT, first.is_vector
        if operation in OF_PRODUCTS:
            one = {"nearest_k": (0, "a number of updates"), "shortest_k": (1, "the largest distance of a weight from its share, one number")}.get(operation)
            for i, a in enumerate(arguments):
                if a.is_vector or (one and i == one[0] and a.per_client):
                    fail(f"{spoken}{a.spoken()}: it takes {one[1] if one and i == one[0] else 'one number for each client'}")
            return True, False
        if any(by_class.is_by_class(a.is_vector) for a in arguments):
            return by_class.shape(operation, arguments)
        if operation in OF_VECTORS:
            if operation == "threshold" and (arguments[1].is_vector or arguments[1].per_client):
                fail(f"{spoken}…, {arguments[1].spoken()}: the share must be a number")
            for a in arguments[:1] if operation == "threshold" else arguments:
                if not a.is_vector:
                    over = "numbers of the cohort (k.…) or a vector" if operation in ("sum", "mean") else "vectors"
                    fail(f"{spoken}{a.spoken()}: it takes {over}")
                if a.per_client:
                    fail(f"{spoken}{a.spoken()}: the cohort's vectors have only fh.norm(k.u), and fh.dot, fh.cos and fh.norm of k.u and a "
                         "sum over the cohort. Compute it in @fh.end and send a report.")
            return False, False
        if operation == "^" and arguments[1].is_vector:
            fail(f"the exponent of a power is {arguments[1].spoken()}; it must be a number. fh.exp takes vectors.")
        return any(a.per_client for a in arguments), any(a.is_vector for a in arguments)
