"""The memory of a feed from one of its documents to the next, and the postings that a document shows.

A posting is an update of the feed object. A document lists the latest items, so it tells of those too that were posted
since the last contact and the one before it. An item is new if nothing of its name is known; then it was posted

- at its own time, where that lies in (last contact, this contact];
- else at an unknown moment of that interval: an item without time, one dated ahead or long ago, one that was held back.

In the first document every time is believed that is not in the future and not older than feeds are: the list
is complete from its oldest item on.
"""

import math
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from bestbefore.addon.feeds.document import Document, Hints, digest

EARLIEST_S = 788_918_400.0
"""1995-01-01: what is dated before was dated by a fault, such as a clock that starts in 1970."""
GONE_REMEMBERED = 256
"""How many items are remembered that the feed no longer lists: some feeds list an item again."""
VERSIONS_REMEMBERED = 64
"""How many entity tags are remembered, so that the items are known that who bears one has seen."""
_EARLY_S = 1.0
"""Times of items count whole seconds: an item of the second of the last contact may have followed it."""

_ITEM = struct.Struct("<qqd")


class ListedItem(NamedTuple):
    """An item as it is compared."""

    name: int
    """A digest of what tells it from others."""
    content: int
    """A digest of what stands in it."""
    time_s: float
    """NaN where it does not say."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The items of a feed's document, as an observation bears them."""

    packed: bytes = b""
    """Those that are looked at, 24 bytes each: observations wait in memory while the store is down."""
    hints: Hints = field(default_factory=Hints)
    tag: str = ""
    """The entity tag, without the mark of weakness, under which clients get the document; empty if it has none."""

    @classmethod
    def of(cls, document: Document, tag: str) -> Self:
        """Make a listing from a document."""
        packed = b"".join(
            _ITEM.pack(digest(item.name), item.content, math.nan if item.time_s is None else item.time_s)
            for item in document.latest
        )
        return cls(packed, document.hints, tag)

    def items(self) -> Iterator[ListedItem]:
        """Yield the items in the order of the document."""
        return map(ListedItem._make, _ITEM.iter_unpack(self.packed))


class Known(NamedTuple):
    """The memory of one item."""

    content: int
    serial: int
    """That of the list in which it was first seen so: new, edited, or listed again."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The memory of a feed."""

    listed_s: float
    """The last contact that showed the list as it is known."""
    items: Mapping[int, Known] = field(default_factory=dict)
    """Those of the last document, by their names."""
    gone: Mapping[int, Known] = field(default_factory=dict)
    """Those listed before, the one that left last at the end."""
    hints: Hints = field(default_factory=Hints)
    serial: int = 0
    """Of the last list: one more whenever items are new, edited or back."""
    versions: tuple[tuple[str, int], ...] = ()
    """Entity tags and the serials of what was listed under them, the latest last."""
    edited: int = 0
    """How often an item was found edited. That is no update."""
    away: bool = False
    """Whether the last contact showed something else, such as a page of HTML."""

    def seen_under(self, tag: str) -> int | None:
        """The serial of the list that bore an entity tag; None if it is not remembered."""
        return next((serial for known, serial in reversed(self.versions) if known == tag), None)


class Shown(NamedTuple):
    """The postings that a document shows."""

    feed: Feed
    postings: tuple[tuple[float, float], ...]
    """Each in (after, by]; both are equal where its time is known."""
    since_s: float | None = None
    """Of a first document: from when on it lists all."""


def read_first(listing: Listing, t_s: float) -> Shown:
    """Return what the first document of a feed shows, seen at `t_s`."""
    items = {item.name: Known(item.content, 1) for item in listing.items()}
    times = sorted({item.time_s for item in listing.items() if EARLIEST_S <= item.time_s <= t_s})
    feed = Feed(t_s, items, hints=listing.hints, serial=1, versions=_with_version((), listing.tag, 1))
    return Shown(feed, tuple((time_s, time_s) for time_s in times), times[0] if times else None)


def read_next(feed: Feed, listing: Listing, t_s: float, posted_s: Collection[float]) -> Shown:
    """Return what a later document shows. `posted_s`: the postings whose times are known.

    An item of no known name that bears exactly the time of a known posting is that posting: feeds change the
    identifiers of all items when their site moves.
    """
    serial, edited = feed.serial + 1, 0
    items: dict[int, Known] = {}
    new: list[float] = []
    for item in listing.items():
        before = feed.items.get(item.name)
        known = before or feed.gone.get(item.name)
        if known is None and item.time_s not in posted_s:
            new.append(item.time_s)
        edited += known is not None and known.content != item.content
        items[item.name] = before if before and before.content == item.content else Known(item.content, serial)
    if all(known.serial < serial for known in items.values()):
        serial = feed.serial
    left = {name: known for name, known in feed.items.items() if name not in items}
    gone = {name: known for name, known in feed.gone.items() if name not in items} | left
    shown = replace(
        feed,
        listed_s=t_s,
        items=items,
        gone=dict(list(gone.items())[-GONE_REMEMBERED:]),
        hints=listing.hints,
        serial=serial,
        versions=_with_version(feed.versions, listing.tag, serial),
        edited=feed.edited + edited,
        away=False,
    )
    return Shown(shown, _postings(new, feed.listed_s, t_s))


def _postings(times_s: Iterable[float], last_s: float, t_s: float) -> tuple[tuple[float, float], ...]:
    """Return when new items with these times, latest first, were posted.

    Those of unknown moments share the interval evenly: two updates at one moment would count as one.
    """
    times = list(times_s)
    dated = {time_s for time_s in times if last_s - _EARLY_S < time_s <= t_s}
    n = sum(time_s not in dated for time_s in times)
    if not math.isfinite(last_s):  # the clock was set back: nothing is known of when
        n = 0
    width_s = (t_s - last_s) / n if n else 0.0
    spread = ((last_s + place * width_s, last_s + (place + 1) * width_s) for place in range(n))
    return (*((time_s, time_s) for time_s in sorted(dated)), *spread)


def _with_version(versions: tuple[tuple[str, int], ...], tag: str, serial: int) -> tuple[tuple[str, int], ...]:
    """A tag that is known keeps its serial: who bears it has seen at least that much."""
    if not tag or any(known == tag for known, _ in versions):
        return versions
    return (*versions, (tag, serial))[-VERSIONS_REMEMBERED:]
