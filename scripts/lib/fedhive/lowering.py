"""Makes formulas of the server and of the cohort from what @fh.server, @fh.cohort and @fh.weight return; and so of @fh.mix.

@fh.server speaks of clients' vectors, as fh.sum(p * k.u); the box says "weight = p" of the cohort, and the server reads u, the sum by these
weights. All sums of a file have the same weights, for k.u and for what else comes up.
"""
from . import products
from .context import fail
from .grammar import NAME, OVER_COHORT
from .text import short_text
from .tracer import leaves


class Lowering:
    """The cohort's and the server's formulas of one file. file: the Tracer; results: {place: {target: symbol}} of the three places."""

    def __init__(self, file, results, hints):
        self._file, self._symbols, self._hints = file, file.symbols, hints
        self._lowered = {}
        self._weights = []                                                     # (weight or None for equal weights, what asks for it)
        declared = {**results.get("cohort", {}), **results.get("weight", {})}
        self._declared = declared.pop("weight", None)
        self._numbers = dict(declared)
        self._names = {id(e): name for name, e in declared.items()}
        self._asked_for_u = self._reads_aggregate(results.get("server", {}).values())
        self.server = {target: self._lower(e) for target, e in results.get("server", {}).items()}
        weight = self._one_weight()
        self.is_uniform = bool(self._weights) and weight is None
        self.cohort = {**({"weight": weight} if weight is not None else {}), **self._numbers}

    def peers(self):
        """Returns the formulas of the cohort with a weight in any case, for @fh.mix."""
        equal = self._build("/", self._symbols.number(1), self._symbols.name("received"))
        weight = self.cohort.get("weight", equal)
        return {**self.cohort, "weight": products.without_sums(self._symbols, weight)}

    def server_hints(self):
        """Returns names of the server's locals for its lowered formulas: {id of a symbol: name}."""
        return {id(self._lowered[before]): name for before, name in self._hints.items() if before in self._lowered}

    def _reads_aggregate(self, values):
        up = {"u", *self._file.sent_up()}
        return next((leaf.value for e in values for leaf in leaves(e) if leaf.operation == "name" and leaf.value in up), None)

    def _lower(self, e):
        """Returns a formula of the server: without the cohort's values."""
        if e.is_leaf:
            return e
        if id(e) not in self._lowered:
            if e.operation in OVER_COHORT:
                result = self._aggregate(e) if e.arguments[0].is_vector else self._number(e)
            else:
                result = self._symbols.build(e.operation, *(self._lower(a) for a in e.arguments), line=e.line)
            self._lowered[id(e)] = result
        return self._lowered[id(e)]

    def _number(self, e):
        """Makes a sum over the cohort's numbers a number of the cohort, and returns its name."""
        if id(e) not in self._names:
            before, e = e, products.without_sums(self._symbols, e)
            self._check_cohort_reads(e)
            taken, hint = self._file.names() | set(self._numbers), self._hints.get(id(before))
            kind, count = e.operation[:-2], 1
            while not hint or hint in taken or not NAME.fullmatch(hint):
                hint, count = f"{kind}_{count}", count + 1
            self._numbers[hint] = e
            self._names[id(e)] = self._names[id(before)] = hint
        return self._symbols.name(self._names[id(e)])

    def _check_cohort_reads(self, e):
        readable = self._file.readable("cohort")
        for leaf in leaves(e):
            if leaf.operation == "name" and not leaf.value.startswith("k.") and leaf.value not in readable:
                fail(f"'{short_text(e)}' reads '{leaf.value}', which is not known where clients are weighed: k.…, {', '.join(sorted(readable))} "
                     "are. Write it outside of fh.sum and fh.mean.", e.line)

    def _aggregate(self, e):
        """Returns fh.sum or fh.mean of clients' vectors by the names of their aggregates, and notes the weights."""
        total, received = None, self._symbols.name("received")
        for vector, factor in self._terms(e.arguments[0], e).items():
            part = self._symbols.name(vector, is_vector=True if vector == "u" else self._file.shape_of(vector))
            if factor is not None and factor.per_client:
                self._check_cohort_reads(factor)
                self._weights.append((factor, e))
                part = part if e.operation == "sum_k" else self._build("/", part, received)
            else:
                self._weights.append((None, e))
                factor = None if factor is None else self._lower(factor)
                if e.operation == "sum_k":
                    factor = received if factor is None else self._build("*", factor, received)
                part = part if factor is None else self._build("*", factor, part)
            total = part if total is None else self._build("+", total, part)
        return total

    def _terms(self, e, whole):
        """Returns e as {vector that comes up: its factor, None for 1}. Raises MethodError if it is no sum of numbers times such vectors."""
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
        return fail(f"'{short_text(whole)}': over the cohort there are sums of numbers times k.u, or times what else comes up, as "
                    f"fh.sum(k.n * k.u). '{short_text(e)}' is none. Compute it in @fh.end and send it as a memory of='visit', up=True.", whole.line)

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

    def _one_weight(self):
        """Returns the file's weight of a client, or None. Raises MethodError if there are several."""
        if self._declared is not None:
            for weight, e in self._weights:
                if weight is not self._declared:
                    fail(f"'{short_text(e)}' {self._kind(weight)}, but the file's weight is {short_text(self._declared)}. "
                         "Read the argument u, which is the sum by these weights.", e.line)
            return self._declared
        first = self._weights[0][0] if self._weights else None
        for weight, e in self._weights:
            if weight is not first:
                fail(f"'{short_text(e)}' {self._kind(weight)}, but '{short_text(self._weights[0][1])}' {self._kind(first)}. All sums over the "
                     "cohort of one file have the same weights, for k.u and for what else comes up.", e.line)
        if first is not None and self._asked_for_u:
            fail(f"@fh.server reads '{self._asked_for_u}', which is the sum by the run's weights, but '{short_text(self._weights[0][1])}' "
                 f"{self._kind(first)}. Write the sum in both places, or give the weights by @fh.weight.", self._weights[0][1].line)
        return first

    def _kind(self, weight):
        return "counts all clients alike" if weight is None else f"weighs them by {short_text(weight)}"
