"""fedhive from Python: runs (docs/python.md), and methods (docs/methods.md).

    import fedhive as fh
    run = fh.run("config.yaml", rounds=5)
    run.rounds                               # a table, with pandas

A method file declares keys, memories and functions. fedhive calls each function once, with symbols, and gets formulas.

    import fedhive as fh
    mu = fh.key("mu", 0.01, least=0)

    @fh.gradient
    def gradient(g, w, w_t):
        return g + mu * (w - w_t)

`python3 -m fedhive.method FILE` prints the formulas. Needs Python 3.9 and nothing else.
"""
import importlib

from .context import fail, is_reading, unknown
from .declarations import after, answer, cohort, end, gradient, judge, key, loss, loss_at, measure, memory, mix, report, second, server, start, visit, weight
from .functions import (abs, batch_mean, batch_square, bipartition, clip, closest, cos, cross_entropy, dot, exp, floor, kl, leading, log, log_sigmoid, log_softmax, logsumexp, max,
                        maximum, mean, median, min, minimum, nearest, norm, one_hot, pick, rank, relu, repeat, shortest, sigmoid, sign, simplex, softmax, sort, sqrt, sum,
                        tanh, threshold, where, without_conflicts)
from .places import NOT_YET

__all__ = ["abs", "after", "answer", "batch_mean", "batch_square", "bipartition", "clip", "closest", "cohort", "cos", "cross_entropy", "dot", "end", "exp", "floor", "gradient", "judge", "key", "kl", "leading", "log", "log_sigmoid",
           "log_softmax", "logsumexp", "loss", "loss_at", "max", "maximum", "mean", "measure", "median", "memory", "min", "minimum", "mix", "nearest", "norm", "one_hot", "pick", "rank", "relu", "repeat",
           "report", "second", "server", "shortest", "sigmoid", "sign", "simplex", "softmax", "sort", "sqrt", "start", "sum", "tanh", "threshold",
           "visit", "weight", "where", "without_conflicts"]
_STARTS = {"run": "runs", "open": "runs", "sweep": "runs", "validate": "runs", "Run": "runs", "Sweep": "runs", "ConfigError": "errors",
           "RunError": "errors"}  # loaded when they are asked for; not a method file's


def __getattr__(name):
    if name in _STARTS and not is_reading():
        return getattr(importlib.import_module(f"fedhive.{_STARTS[name]}"), name)
    if name.startswith("__") or not is_reading():
        raise AttributeError(f"module 'fedhive' has no attribute '{name}'")
    if name in NOT_YET:
        fail(f"fh.{name}: not yet in a method file")
    return fail(unknown("fh's function", name, __all__))
