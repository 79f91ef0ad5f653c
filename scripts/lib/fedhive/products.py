"""Inner products of the cohort's updates, in a file and in formulas: with v = fh.sum(x * k.u), for a number x of each client,

    fh.dot(k.u, v)      dot_k(x)             fh.norm(v)       sqrt(sum_k(x * dot_k(x)))
    fh.cos(k.u, v)      cos_k(x)             fh.dot(v, v2)    sum_k(x * dot_k(x2))
    fh.norm(k.u - v)    distance_k(x)        fh.cos(v, v2)    the quotient of these
    fh.nearest(k.u, m)  nearest_k(m)     and so do fh.bipartition, leading, closest, shortest and without_conflicts: what follows k.u is the same

v may be a sum of such sums, times numbers; fh.mean(k.u) has x = 1 / received. One other vector with up=True, k.d, may replace k.u in all of them;
fh.norm(k.d) is then distance_k(0). Of the root client's update:

    fh.dot(k.u, root.u)  k.dot_root          fh.cos(k.u, root.u)  k.cos_root       fh.norm(root.u)  root_norm
"""
from .context import current, fail
from .grammar import OF_PRODUCTS
from .text import short_text


def of_updates(symbols, function, arguments):
    """Returns the formula of fh.dot, cos, norm or nearest of k.u; None for another operation. Raises MethodError for other vectors of clients, and if
    k.u is not combined with a sum over the cohort."""
    if any(_is_root(a) for a in arguments):
        return _of_root(symbols, function, arguments)
    if not any(a.per_client and a.is_vector for a in arguments):
        return None
    if function in ("dot", "cos") and len(arguments) == 2:
        update, other = sorted(arguments, key=lambda a: not a.per_client)
        if _is_of_clients(update):
            return symbols.build(function + "_k", _coefficients(symbols, other, _taken(update)))
    elif function == "norm" and arguments[0].operation == "-":
        update, other = sorted(arguments[0].arguments, key=lambda a: not a.per_client)
        if _is_of_clients(update):
            return symbols.build("distance_k", _coefficients(symbols, other, _taken(update)))
    elif function == "norm" and _is_of_clients(arguments[0]) and arguments[0].value != "k.u":
        _taken(arguments[0])
        return symbols.build("distance_k", symbols.number(0))
    elif len(arguments) - 1 == OF_PRODUCTS.get(function + "_k") and _is_of_clients(arguments[0]):
        _taken(arguments[0])
        return symbols.build(function + "_k", *arguments[1:])
    return None


def refuse_others(function, first):
    """Raises MethodError for a function of updates whose first argument is none."""
    if function + "_k" in OF_PRODUCTS and function not in ("dot", "cos"):
        fail(f"fh.{function} of {first.spoken()}: its first argument is k.u, or one memory with up=True such as k.d")


def _is_root(e):
    return e.operation == "name" and e.value == "root.u"


def _of_root(symbols, function, arguments):
    """Returns the formula of fh.norm, dot or cos of root.u; None for another function. Raises MethodError where k.u does not meet it."""
    if function == "norm":
        return symbols.name("root_norm")
    if function not in ("dot", "cos"):
        return None
    other = next((a for a in arguments if not _is_root(a)), None)
    if other is None or not _is_of_clients(other) or _taken(other) != "k.u":
        fail("inner products of root.u; allowed: fh.dot(k.u, root.u), fh.cos(k.u, root.u), fh.norm(root.u)")
    return symbols.name(f"k.{function}_root", per_client=True)


def without_sums(symbols, e):
    """Returns a number of the cohort without sums of vectors: their norms and inner products are those of the updates."""
    if e.is_leaf:
        return e
    if e.operation in ("norm", "dot", "cos") and not any(a.per_client for a in e.arguments):
        return _of_sums(symbols, e)
    arguments = [without_sums(symbols, a) for a in e.arguments]
    if all(new is old for new, old in zip(arguments, e.arguments)):
        return e
    return symbols.rebuilt(e, arguments)


def _of_sums(symbols, e):
    x = [without_sums(symbols, _coefficients(symbols, a)) for a in e.arguments]

    def product(a, b):
        return symbols.build("sum_k", symbols.build("*", a, symbols.build("dot_k", b)))

    def norm(a):
        return symbols.build("sqrt", product(a, a))

    if e.operation == "norm":
        return norm(x[0])
    return product(*x) if e.operation == "dot" else symbols.build("/", product(*x), symbols.build("*", norm(x[0]), norm(x[1])))


def _is_of_clients(e):
    """Says whether it is k.u, or another vector of the model's shape with up=True."""
    return e.operation == "name" and e.per_client and e.is_vector is True


def _taken(e):
    """Returns the vector's name and makes it the vector whose products the file uses. Raises MethodError if the file uses another's."""
    file, name = current(), e.value[2:]
    if file.products_of not in ("", name):
        fail(f"inner products of k.{name} and of k.{file.products_of}; a file may take those of one vector only")
    file.products_of = name
    return e.value


def _scaled(symbols, e, of):
    """Returns x of a vector times a number, or divided by one."""
    vector, number = e.arguments if e.arguments[0].is_vector else reversed(e.arguments)
    if e.operation == "/" and number is e.arguments[0]:
        fail(f"'{short_text(e)}' divides by a vector of clients; divide by a number", e.line)
    x = _coefficients(symbols, vector, of)
    return number if e.operation == "*" and x is symbols.number(1) else symbols.build(e.operation, x, number)


def _coefficients(symbols, e, of=None):
    """Returns x of e = sum over the cohort of x * k.u. of: "k.u" or the vector that replaces it; None: the vector of e."""
    build, first = symbols.build, e.arguments[0] if e.arguments else None
    if _is_of_clients(e) and of in (None, e.value):
        _taken(e)
        return symbols.number(1)
    if e.operation == "sum_k":
        return _coefficients(symbols, first, of)
    if e.operation == "mean_k":
        return build("/", _coefficients(symbols, first, of), symbols.name("received"))
    if e.operation == "negative":
        return build("negative", _coefficients(symbols, first, of))
    if e.operation in ("+", "-") and all(a.is_vector and a.per_client == first.per_client for a in e.arguments):
        return build(e.operation, *(_coefficients(symbols, a, of) for a in e.arguments))
    if e.operation in ("*", "/") and not all(a.is_vector for a in e.arguments):
        return _scaled(symbols, e, of)
    return fail(f"inner products of {of or 'k.u'} and '{short_text(e)}'; allowed: with a sum over the cohort of the same vector, such as fh.mean(k.u) or "
                "fh.sum(k.n * k.u). Compute others in @fh.end and send a report.", e.line)
