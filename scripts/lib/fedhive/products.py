"""Inner products of the cohort's updates, as a file says them and as formulas do: with v = fh.sum(x * k.u), for a number x of each client,

    fh.dot(k.u, v)      dot_k(x)             fh.norm(v)       sqrt(sum_k(x * dot_k(x)))
    fh.cos(k.u, v)      cos_k(x)             fh.dot(v, v2)    sum_k(x * dot_k(x2))
    fh.norm(k.u - v)    distance_k(x)        fh.cos(v, v2)    the quotient of these
    fh.nearest(k.u, m)  nearest_k(m)

v may be a sum of such sums, times numbers; fh.mean(k.u) has x = 1 / received.
"""
from .context import fail
from .text import short_text


def of_updates(symbols, function, arguments):
    """Returns the formula of fh.dot, cos, norm or nearest of k.u; None if that is not what is asked for. Raises MethodError for other vectors
    of clients, and where k.u does not meet a sum over the cohort."""
    if not any(a.per_client and a.is_vector for a in arguments):
        return None
    if function in ("dot", "cos") and len(arguments) == 2:
        update, other = sorted(arguments, key=lambda a: not a.per_client)
        if _is_update(update):
            return symbols.build(function + "_k", _coefficients(symbols, other, function))
    elif function == "norm" and arguments[0].operation == "-":
        update, other = sorted(arguments[0].arguments, key=lambda a: not a.per_client)
        if _is_update(update):
            return symbols.build("distance_k", _coefficients(symbols, other, function))
    elif function == "nearest" and len(arguments) == 2 and _is_update(arguments[0]):
        return symbols.build("nearest_k", arguments[1])
    return None


def without_sums(symbols, e):
    """Returns a number of the cohort without sums of vectors: their norms and inner products are those of the updates."""
    if e.is_leaf:
        return e
    if e.operation in ("norm", "dot", "cos") and not any(a.per_client for a in e.arguments):
        return _of_sums(symbols, e)
    arguments = [without_sums(symbols, a) for a in e.arguments]
    if all(new is old for new, old in zip(arguments, e.arguments)):
        return e
    return symbols.build(e.operation, *arguments, line=e.line)


def _of_sums(symbols, e):
    x = [without_sums(symbols, _coefficients(symbols, a, e.operation)) for a in e.arguments]

    def product(a, b):
        return symbols.build("sum_k", symbols.build("*", a, symbols.build("dot_k", b)))

    def norm(a):
        return symbols.build("sqrt", product(a, a))

    if e.operation == "norm":
        return norm(x[0])
    return product(*x) if e.operation == "dot" else symbols.build("/", product(*x), symbols.build("*", norm(x[0]), norm(x[1])))


def _is_update(e):
    return e.operation == "name" and e.value == "k.u"


def _scaled(symbols, e, function):
    """Returns x of a vector times a number, or divided by one."""
    vector, number = e.arguments if e.arguments[0].is_vector else reversed(e.arguments)
    if e.operation == "/" and number is e.arguments[0]:
        fail(f"'{short_text(e)}' divides by a vector of clients", e.line)
    x = _coefficients(symbols, vector, function)
    return number if e.operation == "*" and x is symbols.number(1) else symbols.build(e.operation, x, number)


def _coefficients(symbols, e, function):
    """Returns x of e = sum over the cohort of x * k.u."""
    build, first = symbols.build, e.arguments[0] if e.arguments else None
    if e.operation == "name" and e.value == "k.u":
        return symbols.number(1)
    if e.operation == "sum_k":
        return _coefficients(symbols, first, function)
    if e.operation == "mean_k":
        return build("/", _coefficients(symbols, first, function), symbols.name("received"))
    if e.operation == "negative":
        return build("negative", _coefficients(symbols, first, function))
    if e.operation in ("+", "-") and all(a.is_vector and a.per_client == first.per_client for a in e.arguments):
        return build(e.operation, *(_coefficients(symbols, a, function) for a in e.arguments))
    if e.operation in ("*", "/") and not all(a.is_vector for a in e.arguments):
        return _scaled(symbols, e, function)
    return fail(f"fh.{function} of the cohort's updates and '{short_text(e)}': they meet sums over the cohort, as fh.mean(k.u) or fh.sum(k.n * k.u), and "
                "no other vector. Compute it in @fh.end and send a report.", e.line)
