"""Changes of the text of a configuration that keep all else as it is: order, comments and other keys."""

import json
import tomllib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from bestbefore.addon.config.lines import KeyLines, KeyPath


@dataclass(frozen=True, slots=True)
class TableChange:
    """The keys of a table that are replaced."""

    table: int | None
    """The number of a [[domain]] table, from 0; None: [default], which is added if there is none."""
    removed: AbstractSet[str]
    """Keys that the table need not have."""
    added: Sequence[str]
    """Lines of TOML, in place of the first key that is removed, or at the head of the table."""


@dataclass(frozen=True, slots=True)
class NewDomain:
    """A [[domain]] table that is appended."""

    match: str
    added: Sequence[str]


def edited(toml: str, changes: Sequence[TableChange], new: Sequence[NewDomain] = ()) -> str:
    """Return a text that tomllib accepts, with these changes.

    Raises ValueError, which names the line, for a table that is written in one line or with dotted keys.
    """
    text = toml.replace("\r\n", "\n")
    document, lines = tomllib.loads(text), KeyLines(text)
    dropped: set[int] = set()
    inserted: dict[int, Sequence[str]] = {}
    appended: list[str] = []
    for change in changes:
        if change.table is None and "default" not in document:
            appended += ["", "[default]", *change.added]
            continue
        path: KeyPath = ("default",) if change.table is None else ("domain", change.table)
        place, gone = _place(text, lines, path, change.removed)
        dropped |= gone
        inserted[place] = change.added
    for domain in new:
        appended += ["", "[[domain]]", f"match = {json.dumps(domain.match)}", *domain.added]
    kept: list[str] = []
    for number, line in enumerate(text.rstrip("\n").split("\n") if text.strip() else [], 1):
        kept += [] if number in dropped else [line]
        kept += inserted.get(number, ())
    result = "\n".join([*kept, *appended]).lstrip("\n") + "\n"
    return result.replace("\n", "\r\n") if "\r\n" in toml else result


def _place(text: str, lines: KeyLines, path: KeyPath, removed: AbstractSet[str]) -> tuple[int, set[int]]:
    """Return the line after which keys are added to a table, and the lines of the removed keys."""
    header = lines.line_of(path)
    if not text.split("\n")[header - 1].lstrip().startswith("["):
        name = "[default]" if path == ("default",) else "[[domain]]"
        raise ValueError(f"line {header}: expected a section that begins with the line {name}")
    gone: set[int] = set()
    for key in removed:
        try:
            gone |= set(range(lines.line_of((*path, key)), lines.end_of((*path, key)) + 1))
        except KeyError:
            continue
    if gone:
        return min(gone), gone
    try:
        return lines.end_of((*path, "match")), gone
    except KeyError:
        return header, gone
