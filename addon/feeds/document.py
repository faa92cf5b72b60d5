"""A feed document: its items, and the hints on how often to poll it."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

READ_AT_MOST = 100_000
"""How many items of one document are read at all: its first ones."""
ITEMS_AT_MOST = 1024
"""How many items of one document are looked at: the latest, then those without a time in their order."""


def digest(text: str | bytes) -> int:
    """Return a 63-bit digest of a text."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


@dataclass(frozen=True, slots=True)
class Item:
    """An item (RSS) or entry (Atom) of one document."""

    name: str
    """What distinguishes it from other items: the identifier that the feed gives it, else its link, else its words."""
    time_s: float | None
    """When it says that it was published, or else last updated; None where it does not say, or not readably."""
    content: int
    """A digest of all that stands in it: another one where the item was edited."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints of a feed on when it is worth polling."""

    least_s: float = 0.0
    """For how long a copy may be kept before it is asked again: the longer of ttl and sy:updatePeriod, s."""
    skip_hours: tuple[int, ...] = ()
    """Hours of the day (UTC, 0 to 23) in which polling is useless."""
    skip_days: tuple[int, ...] = ()
    """Days of the week (UTC, 0 is Monday), likewise."""


@dataclass(frozen=True, slots=True)
class Document:
    """A feed at one moment."""

    kind: str
    """`rss`, `rdf`, `atom` or `json`."""
    items: tuple[Item, ...]
    """In the order of the document. All names are different."""
    hints: Hints = field(default_factory=Hints)
    version: int = 0
    """A digest of what it says: equal for documents that differ only in when they were made."""

    @property
    def latest(self) -> tuple[Item, ...]:
        """The items that are looked at: `ITEMS_AT_MOST`, in the order of the document."""
        if len(self.items) <= ITEMS_AT_MOST:
            return self.items

        def rank(place: int) -> float:
            time_s = self.items[place].time_s
            return math.inf if time_s is None else -time_s

        kept = sorted(sorted(range(len(self.items)), key=rank)[:ITEMS_AT_MOST])
        return tuple(self.items[place] for place in kept)


def with_distinct_names(items: Iterable[Item], otherwise: Sequence[str]) -> tuple[Item, ...]:
    """Return the items with distinct names.

    `otherwise`: for each, further words to tell it by (its link and title). Items that share a name are named by
    these too; those that share all of it are one item, given twice.
    """
    listed = list(items)
    times = Counter(item.name for item in listed)
    named: dict[str, Item] = {}
    for item, words in zip(listed, otherwise, strict=True):
        name = item.name if times[item.name] == 1 else f"{item.name}\n{words}"
        named.setdefault(name, replace(item, name=name))
    return tuple(named.values())
