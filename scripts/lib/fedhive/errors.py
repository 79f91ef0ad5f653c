"""The exceptions of calls from Python, made from the program's messages."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

_KEY = r"[A-Za-z_]\w*(?:\[\d+\])*(?:\.\w+(?:\[\d+\])*)*"
_AT_FILE = re.compile(rf"(?P<file>[^\n]+?)(?::(?P<line>\d+))?: (?P<key>{_KEY}): ")
_AT_KEY = re.compile(rf"(?P<key>{_KEY}): ")
_INDENT = " " * len("fedhive: ")


class Mistake(NamedTuple):
    """One mistake: its text, and its file, line and key, or None."""
    text: str
    file: Optional[str] = None
    line: Optional[int] = None
    key: Optional[str] = None


class FedhiveError(Exception):
    """The base class of ConfigError and RunError.

    mistakes: all mistakes that the program names; file, line, key: those of the first, or None.
    folder: the folder of the run or sweep, or None if there is none.
    """

    def __init__(self, mistakes: Sequence[Mistake] | str, folder: Optional[Path] = None) -> None:
        self.mistakes = [Mistake(mistakes)] if isinstance(mistakes, str) else list(mistakes)
        self.folder = folder
        _, self.file, self.line, self.key = self.mistakes[0]
        super().__init__("\n".join(mistake.text for mistake in self.mistakes))


class ConfigError(FedhiveError):
    """A mistake in the config, the data or an argument: nothing was started (exit status 2)."""


class RunError(FedhiveError):
    """The run started and failed (any other exit status)."""


def mistake_at(key: str, text: str) -> ConfigError:
    """Returns the error of an argument `key`, to be raised."""
    return ConfigError([Mistake(f"{key}: {text}", key=key)])


def package_error(package: str, what: str) -> ImportError:
    """Returns the error of a package that is not installed, to be raised."""
    return ImportError(f"{what} needs {package}: pip install {package}")


def mistakes_of(lines: Sequence[str], names: Mapping[str, str] = {}, changes: Sequence[str] = ()) -> list[Mistake]:
    """Splits the program's messages into mistakes.

    lines: the program's output; a line without a key continues the mistake before it. names: {file written by fedhive: the word to print for it},
    without line numbers.
    changes: the KEY=VALUE of each --set, which is removed before a key.
    """
    mistakes: list[Mistake] = []
    for line in lines:
        mistake = _mistake_of(line, names, changes)
        if mistakes and mistake.key is None:
            mistakes[-1] = mistakes[-1]._replace(text=f"{mistakes[-1].text}\n{line}")
        else:
            mistakes.append(mistake)
    return mistakes


def _mistake_of(text: str, names: Mapping[str, str], changes: Sequence[str]) -> Mistake:
    for change in changes:
        if text.startswith(f"--set {change}: "):
            text = text[len(f"--set {change}: "):]
    for path, name in names.items():
        text = re.sub(re.escape(path) + r"(?::\d+)?(?=: )", name, text) if name else text.replace(f"{path}: ", "")
    found = _AT_KEY.match(text)
    if found and found["key"] not in names.values():
        return Mistake(text, key=found["key"])
    found = _AT_FILE.match(text)
    if found is None:
        return Mistake(text)
    return Mistake(text, found["file"], int(found["line"]) if found["line"] else None, found["key"])


def message_lines(printed: str) -> list[str]:
    """Returns the messages in the program's standard error, without "fedhive: " and indents."""
    lines = []
    for line in printed.splitlines():
        if line.startswith("fedhive: ") or line.startswith(_INDENT):
            line = line[len(_INDENT):]
        if line.strip():
            lines.append(line)
    return lines
