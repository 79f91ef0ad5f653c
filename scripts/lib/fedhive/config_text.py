"""Reads the YAML that the program writes (config.yaml), and only that: maps in blocks or braces, lists, words, numbers, quoted texts.

PyYAML, which follows YAML 1.1, would read `lr: 1e-05` as a text and `mps: off` as false.
"""
from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[\w./+-]+)')
_ESCAPE = re.compile(r'\\x([0-9a-f]{2})|\\(.)')
_WORDS = {"true": True, "false": False, "null": None}


def read(text: str) -> dict[str, Any]:
    """Returns the config in `text`. Raises ValueError if it is not as the program writes it."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines() if line.strip()]
    value, rest = _block(lines, 0)
    if rest:
        raise ValueError(f"cannot read {rest[0][1]!r}")
    return value


def _block(lines: list, indent: int) -> tuple[Any, list]:
    """Reads the lines with this indent, and those below them. Returns the value and the lines that are left."""
    items: list = []
    entries: dict[str, Any] = {}
    while lines and lines[0][0] == indent:
        line, lines = lines[0][1], lines[1:]
        if line.startswith("- "):
            items.append(_flow(line[2:]))
            continue
        key, _, value = line.partition(":")
        if value:
            entries[key] = _flow(value)
        else:
            entries[key], lines = _block(lines, lines[0][0] if lines else indent)
    return items or entries, lines


def _flow(text: str) -> Any:
    """Reads a value on one line."""
    tokens, at, text = [], 0, text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"cannot read {text!r}")
        tokens.append(found[1])
        at = found.end()
    value = _value(tokens)
    if tokens:
        raise ValueError(f"cannot read {text!r}")
    return value


def _value(tokens: list) -> Any:
    """Takes one value from the front of `tokens`."""
    token = tokens.pop(0)
    if token == "[":
        items = []
        while tokens[0] != "]":
            items.append(_value(tokens))
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        return items
    if token == "{":
        entries = {}
        while tokens[0] != "}":
            key = tokens.pop(0)
            tokens.pop(0)  # the colon
            entries[key] = _value(tokens)
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        return entries
    return _scalar(token)


def _scalar(token: str) -> Any:
    if token.startswith('"'):
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], token[1:-1])
    if token in _WORDS:
        return _WORDS[token]
    for kind in (int, float):
        try:
            return kind(token)
        except ValueError:
            pass
    return token
