"""Memories by class in formulas of parameters (@fh.end, @fh.server): a number for each class, or a row of logits or of features for each.

A number for each class counts for its whole row where it meets a table. In @fh.loss and @fh.measure they are values of an example (rows.py).
"""
from typing import NamedTuple

from .context import fail
from .grammar import OF_VECTORS


class ByClass(NamedTuple):
    """The shape of such a memory, in place of Symbol.is_vector's True."""

    name: str


SHAPES = {name: ByClass(name) for name in ("features", "logits", "classes")}
SPOKEN = {"features": "a table of features by class", "logits": "a table of logits by class", "classes": "a number for each class"}


def is_by_class(is_vector):
    """Says whether a value's shape is by class."""
    return isinstance(is_vector, ByClass)


def shape(operation, arguments):
    """Returns the shape of an operation on values by class, as Symbol.shape. Raises MethodError if they do not fit."""
    spoken = ", ".join(a.spoken() for a in arguments)
    if operation in OF_VECTORS:
        fail(f"fh.{operation} of {spoken}: formulas of a memory by class go element by element; no function takes all of it")
    if operation == "%":
        fail("% takes numbers, not values by class")
    if operation == "^" and arguments[1].is_vector:
        fail(f"the exponent of a power is {arguments[1].spoken()}; it must be a number. fh.exp takes vectors.")
    kinds = {a.is_vector for a in arguments if a.is_vector}
    tables = kinds - {SHAPES["classes"]}
    if True in kinds or len(tables) > 1:
        fail(f"{operation} of {spoken}: values by class go with numbers, and with values by class of the same shape")
    return any(a.per_client for a in arguments), tables.pop() if tables else SHAPES["classes"]
