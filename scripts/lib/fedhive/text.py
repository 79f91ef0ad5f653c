"""Formulas as text: symbols to lines, and a line's expression back to symbols. grammar.py defines a line."""
import re

from .context import fail, unknown
from .grammar import COMPARISONS, LAST_IS_ONE, MOST_BYTES, MOST_DEEP, NAME, TEXT_FUNCTIONS
from .repeats import Turn

_PRECEDENCE = {**dict.fromkeys(COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "%": 3, "negative": 4, "^": 5}
_ATOM = 6
_TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)|"
                    r"(?P<sign><=|>=|==|!=|[-+*/%^<>(),]))")


def text_of(symbol, names=None, most_deep=None):
    """Returns a symbol as an expression. names: {id of a symbol: its name} for symbols with a line of their own; most_deep: deeper parts become "…"."""
    return _text(symbol, names or {}, most_deep, 0)


def short_text(symbol):
    """Returns a symbol as Python code, for a message; long code is cut."""
    text = re.sub(r"\b([a-z_]+?)(?:_k)?\(", r"fh.\1(", text_of(symbol, most_deep=6)).replace("^", "**")
    return text if len(text) <= 100 else text[:97] + "…"


def _text(symbol, names, most_deep, depth):
    if symbol.operation in ("name", "turn"):
        return names.get(id(symbol), symbol.value)
    if symbol.operation == "number":
        return repr(symbol.value)
    if most_deep is not None and depth >= most_deep:
        return "…"

    def operand(a, least):
        text = names.get(id(a)) or _text(a, names, most_deep, depth + 1)
        return text if id(a) in names or _binding(a) >= least else f"({text})"

    own = _PRECEDENCE.get(symbol.operation)
    if symbol.operation == "negative":
        return "-" + operand(symbol.arguments[0], own)
    if symbol.operation == "^":
        return operand(symbol.arguments[0], _ATOM) + "^" + operand(symbol.arguments[1], own)
    if own == 1:  # a comparison of comparisons needs brackets on both sides
        left, right = (operand(a, 2) for a in symbol.arguments)
        return f"{left} {symbol.operation} {right}"
    if own is not None:
        return f"{operand(symbol.arguments[0], own)} {symbol.operation} {operand(symbol.arguments[1], own + 1)}"
    arguments = symbol.arguments
    if symbol.operation in LAST_IS_ONE and arguments[-1].operation == "number" and arguments[-1].value == 1:
        arguments = arguments[:-1]
    return f"{symbol.operation}({', '.join(operand(a, 0) for a in arguments)})"


def _binding(symbol):
    """Returns how strongly a symbol's text binds; a negative number has a sign before it."""
    if symbol.operation == "number" and repr(symbol.value).startswith("-"):
        return 0
    return _PRECEDENCE.get(symbol.operation, _ATOM)


def lines_of(results, hints, taken):
    """Returns formulas as lines. A value that has a name in the method file, or that is used twice, gets a line "let".

    results: {target: symbol}; hints: {id of a symbol: its name in the file}; taken: names that a "let" must not have.
    Raises MethodError if a line is deeper than MOST_DEEP.
    """
    return _Lines(hints, set(taken) | set(results)).of(results)


class _Lines:
    """Lines in the making."""

    def __init__(self, hints, taken):
        self.hints, self.taken = hints, taken
        self.named, self.depths, self.lines, self.unnamed = {}, {}, [], 0

    def of(self, results):
        """Returns the lines that set results."""
        order, uses = _in_order(results.values())
        self.add(order, uses, {id(e) for e in results.values()})
        return self.lines + [f"{target} = {self.text(e)}" for target, e in results.items()]

    def text(self, e):
        return self.named.get(id(e)) or text_of(e, self.named)

    def name(self, e, hint):
        """Takes a name for a symbol."""
        if not hint or not NAME.fullmatch(hint):
            self.unnamed += 1
            hint = f"t{self.unnamed}"
        self.named[id(e)] = _free_name(hint, self.taken)
        self.taken.add(self.named[id(e)])
        return self.named[id(e)]

    def add(self, order, uses, targets):
        """Adds a line "let" for each symbol that has one."""
        for e in order:
            self.depths[id(e)] = 1 + max((0 if id(a) in self.named else self.depths.get(id(a), 0) for a in e.arguments), default=0)
            if e.operation == "repeat":
                self.add_repeat(e)
                continue
            if self.depths[id(e)] > MOST_DEEP:
                fail(f"'{short_text(e)}' is more than {MOST_DEEP} operations deep. Give parts of it names: a local variable that lives until the "
                     "function returns is a line of its own.", e.line)
            hint = self.hints.get(id(e))
            if e.is_leaf or not _has_line(e, hint, uses[id(e)], id(e) in targets):
                continue
            text = text_of(e, self.named)
            self.lines.append(f"let {self.name(e, hint)} = {text}")

    def add_repeat(self, e):
        """Adds the lines of a repeat, unless another of its results has them."""
        if id(e) in self.named:
            return
        turn = Turn(e.arguments)
        for variable, first in zip(turn.variables, turn.first):
            text = self.text(first)
            self.lines.append(f"let {self.name(variable, variable.value)} = {text}")
        self.lines.append(f"repeat {self.text(turn.count)}")
        uses = {}
        for inner in [*turn.following, *(a for one in turn.inside for a in one.arguments)]:
            uses[id(inner)] = uses.get(id(inner), 0) + 1
        self.add(turn.inside, uses, {id(one) for one in turn.following})
        for variable, following in zip(turn.variables, turn.following):
            self.lines.append(f"{self.named[id(variable)]} = {self.text(following)}")
        self.lines.append("end")
        for i, variable in enumerate(turn.variables):
            self.named[id(e.symbols.repeated(e.arguments, i))] = self.named[id(variable)]


def _has_line(symbol, hint, uses, is_target):
    if uses < 2:
        return bool(hint) and not is_target
    return bool(hint) or symbol.operation != "negative" or not symbol.arguments[0].is_leaf


def _in_order(results):
    """Returns symbols, each after its arguments, and how often each is used: {id: count}. Leaves out what a turn of a repeat computes."""
    order, uses, begun = [], {}, set()

    def visit(e):
        uses[id(e)] = uses.get(id(e), 0) + 1
        if uses[id(e)] > 1:
            return
        if e.operation != "repeat":
            inner = e.arguments
        elif e.arguments in begun:
            inner = ()
        else:
            begun.add(e.arguments)
            turn = Turn(e.arguments)
            inner = (turn.count, *turn.first, *turn.outside)
        for a in inner:
            visit(a)
        order.append(e)

    for e in results:
        visit(e)
    return order, uses


def _free_name(name, taken):
    while name in taken:
        name += "_"
    return name


def parse(text, symbols, lookup):
    """Returns the expression `text` as a symbol. lookup: a function from a name to its symbol; it raises MethodError for an unknown name. Raises
    MethodError if the text does not follow the grammar, is longer than MOST_BYTES or deeper than MOST_DEEP."""
    if len(text.encode()) > MOST_BYTES:
        fail(f"a formula of {len(text.encode())} bytes; allowed: {MOST_BYTES}")
    return _Parser(text, symbols, lookup).whole()


class _Parser:
    """Recursive descent; one method for each line of the grammar."""

    def __init__(self, text, symbols, lookup):
        self.text, self.symbols, self.lookup, self.depth = text, symbols, lookup, 0
        self.tokens, at = [], 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if not match:
                self.refuse(text[at:].strip()[0])
            self.tokens.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        self.tokens.append(("end", ""))

    def refuse(self, token):
        fail(f"'{self.text}': '{token}' is not expected there. Allowed are numbers, names, + - * / % ^, comparisons, brackets and functions."
             if token else f"'{self.text}' ends too early")

    def take(self, *signs):
        if self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def need(self, sign):
        if not self.take(sign):
            self.refuse(self.tokens[0][1])

    def whole(self):
        result = self.expr()
        if self.tokens[0][0] != "end":
            self.refuse(self.tokens[0][1])
        return result

    def nested(self, part):
        self.depth += 1
        if self.depth > MOST_DEEP:
            fail(f"a formula with more than {MOST_DEEP} nested brackets or signs")
        result = part()
        self.depth -= 1
        return result

    def expr(self):
        left = self.sum()
        operation = self.take(*COMPARISONS)
        return self.symbols.build(operation, left, self.sum()) if operation else left

    def sum(self):
        return self.chain(self.product, "+", "-")

    def product(self):
        return self.chain(self.sign, "*", "/", "%")

    def chain(self, part, *signs):
        result = part()
        operation = self.take(*signs)
        while operation:
            result = self.symbols.build(operation, result, part())
            operation = self.take(*signs)
        return result

    def sign(self):
        if self.take("-"):
            inner = self.nested(self.sign)
            return self.symbols.number(-inner.value) if inner.operation == "number" else self.symbols.build("negative", inner)
        base = self.atom()
        return self.symbols.build("^", base, self.nested(self.sign)) if self.take("^") else base

    def atom(self):
        kind, token = self.tokens.pop(0)
        if kind == "number":
            return self.symbols.lift(float(token) if re.search(r"[.eE]", token) else int(token))
        if kind == "name":
            return self.function(token) if self.take("(") else self.lookup(token)
        if token != "(":
            self.refuse(token)
        result = self.nested(self.expr)
        self.need(")")
        return result

    def function(self, name):
        if name not in TEXT_FUNCTIONS:
            fail(f"'{self.text}': " + unknown("function", name, list(TEXT_FUNCTIONS)))
        arguments = [self.nested(self.expr)]
        while self.take(","):
            arguments.append(self.nested(self.expr))
        self.need(")")
        if name in LAST_IS_ONE and len(arguments) == TEXT_FUNCTIONS[name] - 1:
            arguments.append(self.symbols.number(1))
        if len(arguments) != TEXT_FUNCTIONS[name]:
            fail(f"'{self.text}': {name} takes {TEXT_FUNCTIONS[name]} argument{'s' if TEXT_FUNCTIONS[name] > 1 else ''}, not {len(arguments)}")
        return self.symbols.build(name, *arguments)
