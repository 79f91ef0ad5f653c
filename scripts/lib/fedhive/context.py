"""The file that is being read: its errors with their lines, and the arithmetic of the values that its functions get.

A file is read in a context (tracer.py: symbols; uncompiled.py: arrays). There is one at a time, and none is left behind, so one process reads
many files.
"""
import contextlib
import contextvars
import difflib
import sys

_being_read = contextvars.ContextVar("fedhive_being_read", default=None)


class MethodError(Exception):
    """A mistake in a method file. Its text is "FILE:LINE: the mistake, the allowed values"."""


@contextlib.contextmanager
def reading(file):
    """Makes `file` the current file of fedhive's functions until the block ends."""
    token = _being_read.set(file)
    try:
        yield file
    finally:
        _being_read.reset(token)


def is_reading():
    """Says whether a method file is being read."""
    return _being_read.get() is not None


def current():
    """Returns the file that is being read. Raises MethodError if there is none."""
    file = _being_read.get()
    if file is None:
        raise MethodError("fedhive's functions work in a method file while it is read: python3 -m fedhive.method FILE")
    return file


def user_line():
    """Returns the line of the method file that is running now, or None outside of it."""
    file = _being_read.get()
    frame = sys._getframe(1) if file is not None else None
    while frame is not None and frame.f_code.co_filename != file.filename:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno


def fail(text, line=None):
    """Raises MethodError with file and line; the line is the one that is running unless it is given."""
    file = _being_read.get()
    if file is None:
        raise MethodError(text) from None
    line = line or user_line()
    raise MethodError(f"{file.path}:{line}: {text}" if line else f"{file.path}: {text}") from None


def unknown(what, name, known):
    """Returns a sentence: `name` is unknown, its likely meaning, and the known names."""
    near = difflib.get_close_matches(name, known, 1, 0.6)
    meant = f"; did you mean '{near[0]}'?" if near else "."
    return f"{what} '{name}' is not known{meant} There are: {', '.join(sorted(known)) or 'none'}"


class Arithmetic:
    """Python's operators of a value; each becomes an operation of the file that is being read."""

    __slots__ = ()

    def __neg__(self):
        return current().call("negative", self)

    def __pos__(self):
        return self

    def __abs__(self):
        return current().call("abs", self)


def _forward(operation):
    return lambda left, right: current().call(operation, left, right)


def _backward(operation):
    return lambda right, left: current().call(operation, left, right)


for _name, _operation in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("mod", "%"), ("pow", "^")):
    setattr(Arithmetic, f"__{_name}__", _forward(_operation))
    setattr(Arithmetic, f"__r{_name}__", _backward(_operation))
Arithmetic.__radd__ = lambda right, left: right if isinstance(left, int) and left == 0 else current().call("+", left, right)  # of Python's sum()
for _name, _operation in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    setattr(Arithmetic, f"__{_name}__", _forward(_operation))
Arithmetic.__hash__ = object.__hash__
