"""Makes formulas of the server and of the cohort from what @fh.server, @fh.cohort and @fh.weight return; and so of @fh.mix.

@fh.server uses clients' vectors, as in fh.sum(p * k.u). In the box the cohort sets "weight = p", and the server reads u, the sum by these weights. If
a server has sums with several weights, the others are "by_2 = q" with the sum by_2.u. So are all sums if the server also reads the argument u, the
sum by the run's weights.
"""
from . import products
from .context import fail
from .grammar import MOST_SUMS, NAME, OVER_COHORT
from .text import short_text
from .tracer import leaves


class Lowering:
    """The cohort's and the server's formulas of one file. file: the Tracer; results: {place: {target: symbol}} of the three places."""

    def __init__(self, file, results, hints):
        self._file, self._symbols, self._hints = file, file.symbols, hints
        self._lowered = {}
        self._weights = {}  # of the sums: {id of the weight, None for equal ones, "run" for the run's own: (its name, weight, what asks for it first)}
        declared = {**results.get("cohort", {}), **results.get("weight", {})}
        self._declared = declared.pop("weight", None)
        self._numbers = dict(declared)
        self._names = {id(e): name for name, e in declared.items() if not name.startswith("k.")}
        if self._declared is not None:
            self._weights[id(self._declared)] = "weight", self._declared, None
        self.server = {target: self._lower(e) for target, e in results.get("server", {}).items()}
        if self._declared is None and set(self._weights) - {None} and self._reads_aggregate(results.get("server", {}).values()):
            self._lowered, self._weights = {}, {"run": ("weight", None, None)}  # u is the sum by the run's weights
            self.server = {target: self._lower(e) for target, e in results.get("server", {}).items()}
        self.is_uniform = next(iter(self._weights), "none") is None
        equal = self._build("/", self._symbols.number(1), self._symbols.name("received"))
        named = {name: equal if weight is None else weight for name, weight, _ in self._weights.values() if name != "weight" or weight is not None}
        self.cohort = {**named, **self._numbers}

    def peers(self):
        """Returns the formulas of the cohort with a weight in any case, for @fh.mix."""
        equal = self._build("/", self._symbols.number(1), self._symbols.name("received"))
        for name, _, e in self._weights.values():
            if name != "weight":
                fail(f"'{short_text(e)}': all sums over the cohort in @fh.mix must have the same weights", e.line)
        weight = self.cohort.get("weight", equal)
        return {**self.cohort, "weight": products.without_sums(self._symbols, weight)}

    def server_hints(self):
        """Returns names of the server's locals for its lowered formulas: {id of a symbol: name}."""
        return {id(self._lowered[before]): name for before, name in self._hints.items() if before in self._lowered}

    def _reads_aggregate(self, values):
        up = {"u", *self._file.sent_up()}
        return any(leaf.operation == "name" and leaf.value in up for e in values for leaf in leaves(e))

    def _lower(self, e):
        """Returns a formula of the server: without the cohort's values."""
        if e.is_leaf and e.value != "root_norm":
            return e
        if id(e) not in self._lowered:
            if e.operation in ("norm", "dot", "cos") and self._is_of_products(e):
                result = self._number(e)
            elif e.operation == "repeat" or e.is_leaf:
                result = self._number(e)
            elif e.operation in OVER_COHORT:
                result = self._aggregate(e) if e.arguments[0].is_vector else self._number(e)
            else:
                result = self._symbols.build(e.operation, *(self._lower(a) for a in e.arguments), line=e.line)
            self._lowered[id(e)] = result
        return self._lowered[id(e)]

    def _is_of_products(self, e):
        """Says whether a number depends only on sums over the cohort of the vector whose products the file uses, so that the products suffice."""
        return bool(self._file.products_of) and all(leaf.operation == "number" or not leaf.is_vector or leaf.value == "k." + self._file.products_of
                                                    for leaf in leaves(e))

    def _number(self, e):
        """Makes a sum over the cohort's numbers a number of the cohort, and returns its name."""
        if id(e) not in self._names:
            before, e = e, products.without_sums(self._symbols, e)
            self._check_cohort_reads(e)
            taken, hint = self._file.names() | set(self._numbers), self._hints.get(id(before))
            kind, count = "root" if before.is_leaf else before.operation.removesuffix("_k"), 1
            while not hint or hint in taken or not NAME.fullmatch(hint):
                hint, count = f"{kind}_{count}", count + 1
            self._numbers[hint] = e
            self._names[id(e)] = self._names[id(before)] = hint
        return self._symbols.name(self._names[id(e)])

    def _check_cohort_reads(self, e):
        readable = self._file.readable("cohort")
        for leaf in leaves(e):
            if leaf.operation == "name" and not leaf.value.startswith("k.") and leaf.value not in readable and leaf.value != "root_norm":
                fail(f"'{short_text(e)}' reads '{leaf.value}', which no weight of clients may read; allowed: k.…, {', '.join(sorted(readable))}. "
                     "Write it outside of fh.sum and fh.mean.", e.line)

    def _aggregate(self, e):
        """Returns fh.sum or fh.mean of clients' vectors by the names of their aggregates, and notes the weights."""
        total, received = None, self._symbols.name("received")
        for vector, factor in self._terms(e.arguments[0], e).items():
            weighs = factor is not None and factor.per_client
            factor = products.without_sums(self._symbols, factor) if weighs else factor
            name = self._weight_name(factor if weighs else None, e)
            part = self._symbols.name(vector if name == "weight" else f"{name}.{vector}", is_vector=True if vector == "u" else self._file.shape_of(vector))
            if weighs:
                self._check_cohort_reads(factor)
                part = part if e.operation == "sum_k" else self._build("/", part, received)
            else:
                factor = None if factor is None else self._lower(factor)
                if e.operation == "sum_k":
                    factor = received if factor is None else self._build("*", factor, received)
                part = part if factor is None else self._build("*", factor, part)
            total = part if total is None else self._build("+", total, part)
        return total

    def _terms(self, e, whole):
        """Returns e as {vector that comes up: its factor, None for 1}. Raises MethodError for anything but a sum of numbers times such vectors."""
        if e.operation == "name" and e.per_client:
            return {e.value[2:]: None}
        left, right = (*e.arguments, None, None)[:2]
        if e.operation == "negative":
            return {v: self._build("negative", c) if c is not None else self._symbols.number(-1) for v, c in self._terms(left, whole).items()}
        if e.operation in ("+", "-") and left.per_client and right.per_client and left.is_vector and right.is_vector:
            return self._both(e.operation, self._terms(left, whole), self._terms(right, whole))
        if e.operation == "*" and not left.is_vector:
            return {v: left if c is None else self._build("*", left, c) for v, c in self._terms(right, whole).items()}
        if e.operation in ("*", "/") and not right.is_vector:
            one = self._symbols.number(1)
            return {v: right if c is None and e.operation == "*" else self._build(e.operation, one if c is None else c, right)
                    for v, c in self._terms(left, whole).items()}
        return fail(f"'{short_text(whole)}': a sum over the cohort is of numbers times k.u, or times a memory with up=True, such as "
                    f"fh.sum(k.n * k.u). '{short_text(e)}' is not. Compute it in @fh.end and send it as a memory of='visit', up=True.", whole.line)

    def _both(self, operation, left, right):
        one, terms = self._symbols.number(1), dict(left)
        for vector, factor in right.items():
            factor = one if factor is None else factor
            if vector not in left:
                terms[vector] = self._build("negative", factor) if operation == "-" else right[vector]
            else:
                terms[vector] = self._build(operation, one if left[vector] is None else left[vector], factor)
        return terms

    def _build(self, operation, *arguments):
        return self._symbols.build(operation, *arguments)

    def _weight_name(self, weight, e):
        """Returns the name of a weight of the sums, None for equal ones: "weight", or "by_2" and so on. Raises MethodError for too many."""
        key = None if weight is None else id(weight)
        if key not in self._weights:
            count = len(self._weights) + 1
            if count > MOST_SUMS:
                fail(f"'{short_text(e)}': the sums over the cohort have more than {MOST_SUMS} different weights", e.line)
            self._weights[key] = "weight" if count == 1 else f"by_{count}", weight, e
        return self._weights[key][0]
