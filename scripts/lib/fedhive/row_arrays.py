"""The operations of @fh.loss on NumPy's arrays, for a batch of B examples: a number for each example is [B], for each class [B, C] or [C],
features are [B, d]. A table by class is [C, C] or [C, d]."""
import numpy as np

from .rows import ROW, ROWS, shape


def _softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _norm(x):
    return np.sqrt((x * x).sum(-1))


def _pick(x, y):
    return np.broadcast_to(x, (len(y), x.shape[-1]))[np.arange(len(y)), y.astype(int)]


_OF_VECTORS = {
    "sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(-1), "max": lambda x: x.max(-1), "min": lambda x: x.min(-1), "norm": _norm,
    "dot": lambda a, b: (a * b).sum(-1), "softmax": _softmax, "log_softmax": _log_softmax,
    "cos": lambda a, b: (a * b).sum(-1) / (np.maximum(_norm(a), 1e-8) * np.maximum(_norm(b), 1e-8)),
    "logsumexp": lambda x: x.max(-1) + np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)), "pick": _pick,
    "cross_entropy": lambda x, y: -_pick(_log_softmax(x), y), "kl": lambda a, b: (np.exp(a) * (a - b)).sum(-1)}


_OF_TABLES = {"pick": lambda table, y: table[y.astype(int)], "dot": lambda a, table: a @ table.T, "norm": _norm,
              "cos": lambda a, table: a @ table.T / (np.maximum(_norm(a), 1e-8)[:, None] * np.maximum(_norm(table), 1e-8))}


def _batch_mean(x, kind):
    has_examples = x.ndim == (1 if kind == ROW else 2)  # a number for each class may be the same for all
    return np.broadcast_to(x.mean(0, keepdims=True), x.shape) if has_examples else x


def _batch_square(x):
    return ((x @ x.T / x.shape[-1]) ** 2).mean(-1)


def call(function, arguments, data, classes, elementwise):
    """Returns (array, shape) of a function. arguments: values with shapes; data: their arrays; classes: C; elementwise: {name: function}."""
    result = shape(function, arguments)
    if any(a.is_vector in ROWS for a in arguments):
        return _OF_TABLES[function](*data), result
    if function == "batch_mean":
        return _batch_mean(data[0], result), result
    if function == "batch_square":
        return _batch_square(data[0]), result
    if function == "one_hot":
        return (data[0][:, None] == np.arange(classes)) * 1.0, result
    if function in _OF_VECTORS:
        return _OF_VECTORS[function](*data), result
    if result not in (ROW, False):
        data = [d[:, None] if a.is_vector == ROW and d.ndim > 0 else d for a, d in zip(arguments, data)]
    return elementwise[function](*data) * 1.0, result


