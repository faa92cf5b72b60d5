"""The notes on entries of a log that could not be used."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SHOWN = 3
"""The number of skipped entries that a warning shows."""
SHOWN_CHARACTERS = 80
"""The most characters of an invalid value in a message."""


@dataclass(slots=True)
class Skipped:
    """The invalid entries of one log, with the first three, and the numbers of entries left out on purpose."""

    path: Path
    count: int = 0
    """The number of invalid entries."""
    notes: Counter[str] = field(default_factory=Counter)
    """The number of entries for each remark, such as `requests left out, not a GET`."""
    _first: list[str] = field(default_factory=list)

    def add(self, where: str, why: str, count: int = 1) -> None:
        """Count invalid entries; `where` is the place of the first one, such as `line 17`."""
        self.count += count
        if len(self._first) < SHOWN:
            self._first.append(f"{self.path}: {printable(where)}: {printable(why)}")

    def warnings(self) -> Iterator[str]:
        """Yield the lines of a warning; none if all entries were valid."""
        if self.count:
            shown = len(self._first)  # fewer than `SHOWN` if one call of `add` counted several entries
            others = ":" if shown == self.count else ", the first:" if shown == 1 else f", the first {shown}:"
            yield f"{self.path}: {self.count:,} bad {'entry' if self.count == 1 else 'entries'} skipped{others}"
            yield from self._first

    def remarks(self) -> Iterator[str]:
        """Yield a line for each remark on entries that were left out or corrected on purpose."""
        for remark, count in self.notes.items():
            yield f"{self.path}: {remark}: {count:,}"

    @property
    def first(self) -> str:
        """The first invalid entry, for an error message; empty if there is none."""
        return self._first[0] if self._first else ""


def shortened(text: str) -> str:
    """Return a value shortened for a message."""
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def printable(text: str) -> str:
    """Return text with all characters escaped that are not printable, such as line ends and control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
