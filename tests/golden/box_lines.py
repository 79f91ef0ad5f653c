"""Evaluates the lines of a box on NumPy's arrays; shares nothing with the tracer. Vectors are [P]; of examples, see OF_EXAMPLES."""
import itertools
import re

import numpy as np

B, C = 19, 10  # examples and classes

FUNCTIONS = {
    "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log, "tanh": np.tanh, "floor": np.floor,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: np.where(x > 0, x, 0), "minimum": np.minimum, "maximum": np.maximum,
    "where": lambda c, a, b: np.where(c, a, b), "sum": np.sum, "mean": np.mean, "norm": np.linalg.norm, "dot": np.dot,
    "threshold": lambda x, share: sorted(abs(x), reverse=True)[max(1, int(share * len(x) + 0.5)) - 1],
    "cos": lambda a, b: np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)), "sum_k": np.sum, "mean_k": np.mean, "max_k": np.max,
    "min_k": np.min, "median_k": np.median, "softmax_k": lambda x: np.exp(x) / np.exp(x).sum(), "sort_k": np.sort,
    "rank_k": lambda x: (x[None] < x[:, None]).sum(1),
    "simplex_k": lambda x: np.maximum(x - bisected(lambda shift: np.maximum(x - shift, 0).sum() - 1, x.min() - 1, x.max()), 0)}


def bisected(falling, low, high):
    """Returns where a falling function is 0."""
    for _ in range(200):
        low, high = ((low + high) / 2, high) if falling((low + high) / 2) > 0 else (low, (low + high) / 2)
    return low


# Of examples: a number for each is [B, 1], so that it meets [B, C] as NumPy has it.
OF_EXAMPLES = {
    **FUNCTIONS, "sum": lambda x: x.sum(-1, keepdims=True), "mean": lambda x: x.mean(-1, keepdims=True),
    "dot": lambda a, b: (a * b).sum(-1, keepdims=True), "norm": lambda x: np.sqrt((x * x).sum(-1, keepdims=True)),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), "log_softmax": lambda x: x - x.max(-1, keepdims=True) -
    np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)), "logsumexp": lambda x: np.log(np.exp(x).sum(-1, keepdims=True)),
    "max": lambda x: x.max(-1, keepdims=True), "min": lambda x: x.min(-1, keepdims=True), "log_sigmoid": lambda x: -np.log(1 + np.exp(-x)),
    "one_hot": lambda y: (y == np.arange(C)) * 1.0, "pick": lambda x, y: np.take_along_axis(x, y, 1),
    "kl": lambda a, b: (np.exp(a) * (a - b)).sum(-1, keepdims=True)}
OF_EXAMPLES.update(pick=lambda x, y: x[y[:, 0].astype(int)].reshape(B, -1) if len(x) == C else np.take_along_axis(x, y.astype(int), 1),
                   dot=lambda a, b: a @ b.T if len(b) == C else (a * b).sum(-1, keepdims=True),
                   norm=lambda x: np.sqrt((x * x).sum(-1)) if len(x) == C else np.sqrt((x * x).sum(-1, keepdims=True)))
OF_EXAMPLES.update(batch_mean=lambda x: np.ones((B, 1)) * x.mean(0, keepdims=True), batch_square=lambda x: np.square(x @ x.T / x.shape[1]).mean(1, keepdims=True))
OF_EXAMPLES["cross_entropy"] = lambda x, y: -OF_EXAMPLES["pick"](OF_EXAMPLES["log_softmax"](x), y)
OF_EXAMPLES["cos"] = lambda a, b: OF_EXAMPLES["dot"](a, b) / (OF_EXAMPLES["norm"](a) * OF_EXAMPLES["norm"](b))


def of_updates(u):
    """Returns the functions that read the updates u: [K, P]."""
    def apart(v):
        return np.linalg.norm(u - v, axis=1)

    def mixed(x):
        return np.einsum("k,kp->p", x * np.ones(len(u)), u)

    def others(k, among):
        return [j for j in range(len(u)) if j != k and (among * np.ones(len(u)))[j] != 0]

    def closest(x):
        cosines = np.inner(u, u) / np.outer(apart(0), apart(0))
        return np.array([max([0.0] + [cosines[k, j] * min(1, x[k] / x[j]) if x[j] > 0 else cosines[k, j] for j in others(k, 1)]) for k in range(len(u))])

    return {"dot_k": lambda x: np.inner(u, mixed(x)), "distance_k": lambda x: apart(mixed(x)),
            "cos_k": lambda x: np.inner(u, mixed(x)) / apart(0) / np.linalg.norm(mixed(x)),
            "bipartition_k": lambda among: bipartition(u, among),
            "nearest_k": lambda m, among=1: np.array([sum(sorted((apart(one) ** 2)[others(k, among)])[:max(0, int(m))]) for k, one in enumerate(u)]),
            "leading_k": lambda among: leading(u, among * np.ones(len(u))), "closest_k": lambda x: closest(x * np.ones(len(u))),
            "shortest_k": lambda x, e: shortest(u, x * np.ones(len(u)), e),
            "without_conflicts_k": lambda order, which: without_conflicts(u, order * np.ones(len(u)), which * np.ones(len(u)))}


def leading(u, among):
    """Returns the leading eigenvector of the members' products, about their mean."""
    members = np.flatnonzero(among)
    about = np.eye(len(members)) - 1 / len(members)
    products = about @ u[members] @ u[members].T @ about
    vector, result = np.linalg.eigh(products)[1][:, -1], np.zeros(len(u))
    result[members] = vector * np.sign(vector[np.argmax(np.diag(products))])
    return result


def shortest(u, shares, spread):
    """Returns the weights by search: each at its lower bound, at its upper bound, or free, all free ones with one slope."""
    gram, low, high = np.corrcoef(np.hstack([u, -u])), np.maximum(0, shares - spread), np.minimum(1, shares + spread)  # of zero mean: cosines
    found = []
    for face in itertools.product((0, 1, 2), repeat=len(u)):
        free, weights = np.equal(face, 2), np.choose(face, (low, high, 0 * low))
        if free.any():
            n = free.sum()
            system = np.block([[gram[np.ix_(free, free)], -np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
            weights[free] = np.linalg.solve(system, np.append(-gram[free] @ weights, shares.sum() - weights.sum()))[:n]
        if abs(weights.sum() - shares.sum()) < 1e-9 and np.all(weights > low - 1e-12) and np.all(weights < high + 1e-12):
            found.append(weights)
    return min(found, key=lambda weights: weights @ gram @ weights)


def without_conflicts(u, order, which):
    """Returns the weights of the sum, solved from the projected vectors."""
    total = np.zeros(u.shape[1])
    for k in range(len(u)):
        g = u[k].copy()
        for j in sorted(range(len(u)), key=lambda j: order[j]) if which[k] else ():
            if j != k and g @ u[j] < 0:
                g -= g @ u[j] / (u[j] @ u[j]) * u[j]
        total += g
    return np.linalg.lstsq(u.T, total, rcond=None)[0]


def bipartition(u, among):
    """Returns 1 for the part without the first: by the largest threshold under which cosines join the members to two parts."""
    members = np.flatnonzero(among)
    cosines = np.array([[np.inner(u[i], u[j]) / np.linalg.norm(u[i]) / np.linalg.norm(u[j]) for j in members] for i in members])

    def away(least):  # the members that no chain of cosines >= least joins to the first, if these are one part
        def reached(first):
            found, more = {first}, True
            while more:
                more = {j for i in found for j in range(len(members)) if cosines[i, j] >= least} - found
                found |= more
            return found
        near = reached(0)
        rest = set(range(len(members))) - near
        return rest if rest and reached(min(rest)) == rest else None

    parts = [part for part in (away(least) for least in sorted(cosines.flat)) if part]
    return np.isin(np.arange(len(u)), members[sorted(parts[0])]) * 1.0 if parts else np.zeros(len(u))


class Line:
    """Evaluates one expression while it reads it."""

    LEVELS = (("<=", ">=", "==", "!=", "<", ">"), ("+", "-"), ("*", "/", "%"))
    COMPUTE = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod, "<": np.less, "<=": np.less_equal,
               ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}

    def __init__(self, text, names, functions=None):
        self.functions = functions or FUNCTIONS
        self.tokens = re.findall(r"\d[\d.]*(?:e[-+]?\d+)?|[A-Za-z_][\w.]*|[<>=!]=|\S", text) + [""]
        self.names = names

    def value(self, level=0):
        if level == len(self.LEVELS):
            return self.signed()
        left = self.value(level + 1)
        while self.tokens[0] in self.LEVELS[level]:
            operation = self.COMPUTE[self.tokens.pop(0)]
            left = operation(left, self.value(level + 1)) * 1.0
        return left

    def signed(self):
        if self.tokens[0] == "-":
            self.tokens.pop(0)
            return -self.signed()
        base = self.atom()
        if self.tokens[0] == "^":
            self.tokens.pop(0)
            return base ** self.signed()
        return base

    def atom(self):
        token = self.tokens.pop(0)
        if token[0].isdigit():
            return np.float64(token)
        if token == "(":
            value = self.value()
            assert self.tokens.pop(0) == ")"
            return value
        if self.tokens[0] != "(":
            return self.names[token]
        arguments = []
        while self.tokens.pop(0) in ("(", ","):
            arguments.append(self.value())
        return self.functions[token](*arguments)


def evaluate(lines, names, functions=None):
    """Returns {target: value} of a box's lines."""
    names, results, lines = dict(names), {}, list(lines)

    def value_of(text):
        reader = Line(text, names, functions)
        value = reader.value()
        assert reader.tokens == [""], text
        return value

    while lines:
        line = lines.pop(0)
        if line.startswith("repeat "):
            body, lines = lines[:lines.index("end")], lines[lines.index("end") + 1:]
            for _ in range(int(value_of(line[len("repeat "):]))):
                names.update(evaluate(body, names, functions))
            continue
        target, text = line.split(" = ", 1)
        value = value_of(text)
        if target.startswith("let "):
            names[target[4:]] = value
        else:
            results[target] = value
    return results
