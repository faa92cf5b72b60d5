"""The notes on what of a foreign log could not be used, and why."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SHOWN = 3
"""How many of the skipped entries are shown."""
SHOWN_CHARACTERS = 80
"""How much of a wrong value a message shows."""


@dataclass(slots=True)
class Skipped:
    """The bad entries of one log: how many, and the first three. What was left out on purpose is counted apart."""

    path: Path
    count: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    """How many entries each remark is true of, such as `requests left out, not a GET`."""
    _first: list[str] = field(default_factory=list)

    def add(self, where: str, why: str, count: int = 1) -> None:
        """Count entries that could not be used; `where` is the first of them, such as `line 17`."""
        self.count += count
        if len(self._first) < SHOWN:
            self._first.append(f"{self.path}: {printable(where)}: {printable(why)}")

    def warnings(self) -> Iterator[str]:
        """Lines for the user, none if all entries were good."""
        if self.count:
            shown = len(self._first)  # fewer than `SHOWN`, where one line stands for many entries
            others = ":" if shown == self.count else ", the first:" if shown == 1 else f", the first {shown}:"
            yield f"{self.path}: {self.count:,} bad {'entry' if self.count == 1 else 'entries'} skipped{others}"
            yield from self._first

    def remarks(self) -> Iterator[str]:
        """Lines for the user on what was left out or mended on purpose."""
        for remark, count in self.notes.items():
            yield f"{self.path}: {remark}: {count:,}"

    @property
    def first(self) -> str:
        """The first bad entry, for an error that has room for one."""
        return self._first[0] if self._first else ""


def shortened(text: str) -> str:
    """Return as much of a wrong value as a message shows."""
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def printable(text: str) -> str:
    """Text of a file as it may stand in a message without quotes: nothing in it breaks the line or moves a cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
