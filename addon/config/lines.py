"""Line numbers of the keys in a TOML text. tomllib reports lines for syntax errors only."""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator

type KeyPath = tuple[str | int, ...]
"""Table names and key, and the number (from 0) of each table of an array of tables: ("domain", 0, "match")."""

_STRING = r'"""(?:[^\\]|\\.)*?"{3,5}(?!")|\'\'\'.*?\'{3,5}(?!\')|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_KEY_PART = r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
_KEY = rf"(?:{_KEY_PART})(?:[ \t]*\.[ \t]*(?:{_KEY_PART}))*"

_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_KEY})[ \t]*\]\]?")
_ASSIGNMENT = re.compile(rf"({_KEY})[ \t]*=")
_VALUE_PART = re.compile(rf"{_STRING}|#[^\n]*|[^\"'#\[\]{{}}\n]+|.", re.DOTALL)
_PART = re.compile(_KEY_PART)


class KeyLines:
    """The lines, from 1, of the tables and keys of a text that tomllib has accepted.

    Keys in inline tables have the line of the value that they are part of.
    """

    def __init__(self, toml: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._ends: dict[KeyPath, int] = {}
        for path, line, end in _find_keys(toml.replace("\r\n", "\n")):
            self._lines.setdefault(path, line)
            self._ends.setdefault(path, end)

    def line_of(self, path: KeyPath) -> int:
        """Return the line of a key or, if it is not in the text, of the nearest enclosing table."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def end_of(self, path: KeyPath) -> int:
        """Return the last line of the value of a key, or the line of the header of a table. Raises KeyError."""
        return self._ends[path]


def _find_keys(toml: str) -> Iterator[tuple[KeyPath, int, int]]:
    """Yield each path with its first and last line."""
    newlines = [at for at, char in enumerate(toml) if char == "\n"]
    tables_so_far: dict[KeyPath, int] = {}
    """The number of tables so far in each array of tables."""
    table: KeyPath = ()
    at = 0
    while (at := _end(_BLANK, toml, at)) < len(toml):
        line = bisect_right(newlines, at) + 1
        if header := _HEADER.match(toml, at):
            table = _in_arrays(_parts(header[2]), tables_so_far, opens_table=header[1] == "[[")
            for length in range(1, len(table) + 1):
                yield table[:length], line, line
            at = header.end()
        elif assignment := _ASSIGNMENT.match(toml, at):
            path = table + _parts(assignment[1])
            at = _end_of_value(toml, assignment.end())
            for length in range(len(table) + 1, len(path) + 1):
                yield path[:length], line, bisect_right(newlines, at - 1) + 1
        else:
            return  # not reached in a text that tomllib has accepted


def _end(pattern: re.Pattern[str], toml: str, at: int) -> int:
    match = pattern.match(toml, at)
    return at if match is None else match.end()


def _parts(key: str) -> KeyPath:
    return tuple(tomllib.loads(f"{part} = 0").popitem()[0] for part in _PART.findall(key))


def _in_arrays(names: KeyPath, tables_so_far: dict[KeyPath, int], *, opens_table: bool) -> KeyPath:
    """Return the path of a header: after the name of an array of tables, the number of its latest table."""
    path: KeyPath = ()
    for position, name in enumerate(names):
        path = (*path, name)
        if opens_table and position == len(names) - 1:
            tables_so_far[path] = tables_so_far.get(path, 0) + 1
        if path in tables_so_far:
            path = (*path, tables_so_far[path] - 1)
    return path


def _end_of_value(toml: str, at: int) -> int:
    depth = 0
    while match := _VALUE_PART.match(toml, at):
        if match[0] == "\n" and depth == 0:
            break
        depth += (match[0] in "[{") - (match[0] in "]}")
        at = match.end()
    return at
