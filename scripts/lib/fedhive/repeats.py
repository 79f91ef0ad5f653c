"""fh.repeat: numbers that a function changes so many times in turn. In a formula's text these are the lines from "repeat COUNT" to "end".

Its results are symbols "repeat" with the arguments (count, *what it begins with, *variables, *what a turn makes of them); the value says which result
it is. A variable is a leaf "turn" with its name as the value. What depends on a variable is of a turn; the rest has its lines "let", if any, before.
"""
from .context import fail
from .places import PLACES


def repeated(file, count, first, names, run):
    """Returns the results of fh.repeat as symbols. names: of the variables, for the text; run: what runs a turn on symbols.
    Raises MethodError for what is no number, and where there is no cohort."""
    symbols = file.symbols
    count, first = symbols.lift(count), [symbols.lift(one) for one in first]
    if file.place is None or not PLACES[file.place].has_cohort:
        fail("fh.repeat: allowed in @fh.cohort, @fh.weight, @fh.server and @fh.mix, of numbers; elsewhere a loop over constants is unrolled")
    if count.per_client or count.is_vector:
        fail(f"fh.repeat, {count.spoken()} times; the first argument is one number: how often")
    for one in first:
        if one.is_vector:
            fail(f"fh.repeat of {one.spoken()}: it takes numbers, such as k.n")
    variables = [symbols.turn(name, one.per_client) for name, one in zip(names, first)]
    returned = run(*variables)
    returned = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(returned) != len(first):
        fail(f"fh.repeat begins with {len(first)} value{'s' if len(first) > 1 else ''}, and its function returns {len(returned)}; return one for each")
    following = [symbols.lift(one) for one in returned]
    for begins, follows in zip(first, following):
        if follows.is_vector or follows.per_client and not begins.per_client:
            instead = "it takes numbers" if follows.is_vector else "begin with one for each client, such as 0 * k.n"
            fail(f"fh.repeat begins with {begins.spoken()}, and its function returns {follows.spoken()}; {instead}")
    turn = Turn((count, *first, *variables, *following))
    if any(e.operation == "repeat" for e in turn.inside):
        fail("fh.repeat inside of another; unroll one by a Python loop over constants")
    return [symbols.repeated((count, *first, *variables, *following), i) for i in range(len(first))]


class Turn:
    """What a "repeat" computes, by its arguments. inside: what depends on a variable, arguments first; outside: what a turn reads of the rest."""

    def __init__(self, arguments):
        size = (len(arguments) - 1) // 3
        self.count, self.first = arguments[0], arguments[1:1 + size]
        self.variables, self.following = arguments[1 + size:1 + 2 * size], arguments[1 + 2 * size:]
        self.inside, self.outside = [], []
        self._depends = {id(variable): True for variable in self.variables}
        for e in self.following:
            self._visit(e)
            if not self._depends[id(e)]:
                self.outside.append(e)

    def _visit(self, e):
        if id(e) in self._depends:
            return self._depends[id(e)]
        inner = [self._visit(a) for a in e.arguments]
        self._depends[id(e)] = any(inner)
        if any(inner):
            self.inside.append(e)
            self.outside.extend(a for a, depends in zip(e.arguments, inner) if not depends)
        return self._depends[id(e)]
