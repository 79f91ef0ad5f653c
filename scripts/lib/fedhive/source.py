"""The code of a method file while fedhive runs it once: its errors get their lines, and its functions their places."""
import ast
import os
import sys
import types

from .context import MethodError, fail
from .declarations import Declarations
from .grammar import ALLOWED
from .places import PLACES, PYTHON_ARGUMENTS

_MODULE = "fedhive_method"  # the file's __name__


def has_python(source):
    """Says whether a file's functions stand under python=True: (some, all). source: bytes. A file with a mistake in its syntax has none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False, False
    marks = [mark for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for mark in node.decorator_list if _place(mark) in {**PLACES, **PYTHON_ARGUMENTS}]
    of_python = [any(option.arg == "python" for option in getattr(mark, "keywords", [])) for mark in marks]
    return any(of_python), bool(of_python) and all(of_python)


def _place(mark):
    mark = mark.func if isinstance(mark, ast.Call) else mark
    return mark.attr if isinstance(mark, ast.Attribute) else mark.id if isinstance(mark, ast.Name) else ""


class Source(Declarations):
    """One method file that is run, to declare."""

    def __init__(self, path, filename):
        super().__init__(path, filename)
        self.tree = ast.Module([], [])
        self.names_of_file = {}  # its variables
        self._imports = False

    def run_file(self, source, imports=False):
        """Runs the file itself, which declares. imports: modules beside the file are found. Raises MethodError for Python's own errors, too."""
        module = types.ModuleType(_MODULE)
        module.__file__ = self.filename
        self.names_of_file, self._imports = module.__dict__, imports

        def run():
            code = compile(source, self.filename, "exec", dont_inherit=True)
            self.tree = ast.parse(source)
            if imports:
                sys.modules[_MODULE] = module  # dataclasses look for it
                sys.path.insert(0, os.path.dirname(self.filename))
            exec(code, module.__dict__)
        self.guarded(run)

    def guarded(self, call):
        """Returns call(). Raises MethodError with the file's line for whatever Python raises in it."""
        try:
            return call()
        except MethodError:
            raise
        except SyntaxError as error:
            fail(f"{type(error).__name__}: {error.msg}", error.lineno if error.filename == self.filename else self._line_of(error))
        except (Exception, SystemExit) as error:
            fail(f"{type(error).__name__}: {error}{self.hint(error)}", self._line_of(error))

    def hint(self, error):
        """Returns what helps against an error of the file's code."""
        if isinstance(error, TypeError) and "unexpected keyword" in str(error) and "key()" in str(error):
            return ". Bounds of a key are least, above, most and below."
        if isinstance(error, ModuleNotFoundError) and self._imports:
            return f". {sys.executable} does not find it: install it (pip install {error.name}), or name another Python by FEDHIVE_PYTHON"
        if isinstance(error, ModuleNotFoundError):
            return f". A method file needs no module but fedhive. {ALLOWED}"
        return ""

    def _line_of(self, error):
        line, entry = None, error.__traceback__
        while entry:
            if entry.tb_frame.f_code.co_filename == self.filename:
                line = entry.tb_lineno
            entry = entry.tb_next
        return line

    def line_of(self, function, argument=None):
        """Returns the line of a function's "def", or of one of its arguments."""
        first = function.__code__.co_firstlineno
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and first in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return next((a.lineno for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.arg == argument), node.lineno)
        return first
