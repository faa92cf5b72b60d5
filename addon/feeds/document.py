"""A parsed feed: its items, and its hints on how often to poll it."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

MAX_PARSED_ITEMS = 100_000
"""The most items that are parsed: the first ones of the document."""
MAX_ITEMS = 1024
"""The most items that are compared: the latest, then those without a time in the order of the document."""

MOST_LINKS, LONGEST_LINK = 16, 2048
"""How many links of a feed to hubs and itself are read, and how long they may be."""


def digest(text: str | bytes) -> int:
    """Return a 63-bit digest of a text."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


@dataclass(frozen=True, slots=True)
class Item:
    """An item (RSS) or entry (Atom) of one document."""

    name: str
    """Its identity: its identifier in the feed, else its link, else its text."""
    time_s: float | None
    """The time of its publication, or else of its last change; None if missing or malformed."""
    content: int
    """A digest of its whole content, which changes with an edit."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints of a feed on when it is worth polling."""

    least_s: float = 0.0
    """How long the feed asks not to be polled, s: the longer of ttl and sy:updatePeriod."""
    skip_hours: tuple[int, ...] = ()
    """Hours of the day (UTC, 0 to 23) in which polling is useless."""
    skip_days: tuple[int, ...] = ()
    """Days of the week (UTC, 0 is Monday) on which polling is useless."""


@dataclass(frozen=True, slots=True)
class Document:
    """A feed at one moment."""

    kind: str
    """`rss`, `rdf`, `atom` or `json`."""
    items: tuple[Item, ...]
    """In the order of the document, with distinct names."""
    hints: Hints = field(default_factory=Hints)
    links: tuple[tuple[str, str], ...] = ()
    """The links to its hub and to itself: relation (`hub`, `self`) and target."""
    version: int = 0
    """A digest of its content: equal for documents that differ only in when they were generated."""

    @property
    def latest(self) -> tuple[Item, ...]:
        """Return the items to compare: at most `MAX_ITEMS`, in the order of the document."""
        if len(self.items) <= MAX_ITEMS:
            return self.items

        def rank(place: int) -> float:
            time_s = self.items[place].time_s
            return math.inf if time_s is None else -time_s

        kept = sorted(sorted(range(len(self.items)), key=rank)[:MAX_ITEMS])
        return tuple(self.items[place] for place in kept)


def with_distinct_names(items: Iterable[Item], otherwise: Sequence[str]) -> tuple[Item, ...]:
    """Return the items with distinct names.

    `otherwise`: for each, a further text that identifies it (its link and title), which is added to a name that several
    items share. Items that share both are duplicates of one item.
    """
    listed = list(items)
    times = Counter(item.name for item in listed)
    named: dict[str, Item] = {}
    for item, words in zip(listed, otherwise, strict=True):
        name = item.name if times[item.name] == 1 else f"{item.name}\n{words}"
        named.setdefault(name, replace(item, name=name))
    return tuple(named.values())
