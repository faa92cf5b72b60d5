"""The errors in a configuration, collected, with one line each."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from bestbefore.addon.config.lines import KeyLines, KeyPath
from bestbefore.addon.config.values import Reader, nearest
from bestbefore.addon.errors import InputError

type Readers = Mapping[str, Reader[Any]]

_MAX_CHARACTERS = 80
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_USER_INFO = re.compile(r"//\S*@")


class ConfigError(InputError):
    """An invalid configuration. Each of `problems` is a line for the user."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Problems:
    """Collects the errors in a file and in options, while these are parsed completely."""

    def __init__(self, file: str, lines: KeyLines, sections_of: Mapping[str, str]) -> None:
        """`sections_of`: the sections that each key belongs to, for messages."""
        self._file = file
        self._sections_of = sections_of
        self._lines = lines
        self._in_file: list[tuple[int, str]] = []
        self._in_options: list[str] = []

    @property
    def messages(self) -> list[str]:
        """The messages: of the file in the order of its lines, then of the options."""
        in_order = sorted(self._in_file, key=itemgetter(0))
        return [f"{self._file}:{line}: {message}" for line, message in in_order] + self._in_options

    def add(self, path: KeyPath, message: str) -> None:
        """Add an error at a path."""
        self._in_file.append((self._lines.line_of(path), _format_table(path) + message))

    def add_value(self, path: KeyPath, value: object, expected: str) -> None:
        """Add an error about the value of the key at a path."""
        self.add(path, f"{format_key(path[-1])} = {printable(value)}: {expected}")

    def add_option(self, key: str, value: object, expected: str) -> None:
        """Add an error about the value of an option."""
        self._in_options.append(f"option {key} = {printable(value)}: {expected}")

    def read_keys(self, path: KeyPath, table: Mapping[str, object], readers: Readers) -> dict[str, Any]:
        """Parse the keys of the table at a path; return the valid values, and add errors about the others."""
        return self._read(table, readers, lambda key, value, expected: self.add_value((*path, key), value, expected))

    def read_options(self, options: Mapping[str, object], readers: Readers) -> dict[str, Any]:
        """Parse options; return the valid values, and add errors about the others."""
        return self._read(options, readers, self.add_option)

    def _read(
        self, table: Mapping[str, object], readers: Readers, refuse: Callable[[str, object, str], None]
    ) -> dict[str, Any]:
        values = {}
        for key, value in table.items():
            if key not in readers:
                sections = self._sections_of.get(key)
                refuse(key, value, f"this is a key of {sections}" if sections else unknown("key", key, readers))
                continue
            try:
                values[key] = readers[key](value)
            except ValueError as error:
                refuse(key, value, str(error))
        return values


def unknown(kind: str, name: str, names: Collection[str]) -> str:
    """Return the error for an unknown key or section, with the nearest name or else all of them."""
    meant = nearest(name, names)
    return f"there is no such {kind}, " + (f"did you mean {meant}?" if meant else f"expected one of {', '.join(names)}")


def printable(value: object) -> str:
    """Return a value for a message: as in TOML, on one line, abbreviated, and without credentials in URLs."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if not text.isprintable():
        text = json.dumps(value, default=str)
    text = _USER_INFO.sub("//***@", text)
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 3] + "..."


def format_key(key: str | int) -> str:
    """Return a key as in TOML, quoted if necessary."""
    return printable(key) if isinstance(key, str) and not _BARE_KEY.fullmatch(key) else str(key)


def _format_table(path: KeyPath) -> str:
    if len(path) < 2:
        return ""
    return f"[[{path[0]}]] " if isinstance(path[1], int) else f"[{path[0]}] "
