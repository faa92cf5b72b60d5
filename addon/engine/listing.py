"""The state of a feed between its documents, and the postings found by comparing them.

A posting is an update of the feed object. A document lists the latest items, so it shows all that were posted since the
last contact. An item is new if its name is unknown. Then it was posted

- at its own time, where that lies in (last contact, this contact]; - else at an unknown moment of that interval: it has
no time, an implausible one, or was published with delay.

In the first document every time is accepted that is not in the future and not before the first feeds: the list is
complete from its oldest item on.
"""

import math
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from bestbefore.addon.feeds.document import Document, Hints, digest

EARLIEST_S = 788_918_400.0
"""1995-01-01: an earlier time is a fault, such as that of a clock that starts in 1970."""
GONE_REMEMBERED = 256
"""How many items are kept that the feed no longer lists: some feeds list an item again."""
VERSIONS_REMEMBERED = 64
"""How many entity tags are kept, by which the items that a client has seen are determined."""
_EARLY_S = 1.0
"""Times of items count whole seconds: an item may be dated up to a second before the last contact that it followed."""

_ITEM = struct.Struct("<qqd")


class ListedItem(NamedTuple):
    """An item in the form in which items are compared."""

    name: int
    """A digest of its identity."""
    content: int
    """A digest of its content."""
    time_s: float
    """NaN if it has no time."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The items of a feed's document, in an observation."""

    packed: bytes = b""
    """The items, 24 bytes each: observations are kept in memory while the store is down."""
    hints: Hints = field(default_factory=Hints)
    tag: str = ""
    """The opaque part of the entity tag that clients see; empty if there is none."""

    @classmethod
    def of(cls, document: Document, tag: str) -> Self:
        """Create a listing from a document."""
        packed = b"".join(
            _ITEM.pack(digest(item.name), item.content, math.nan if item.time_s is None else item.time_s)
            for item in document.latest
        )
        return cls(packed, document.hints, tag)

    def items(self) -> Iterator[ListedItem]:
        """Yield the items in the order of the document."""
        return map(ListedItem._make, _ITEM.iter_unpack(self.packed))


class RememberedItem(NamedTuple):
    """The state of one item."""

    content: int
    serial: int
    """The serial of the list in which this version first appeared: new, edited, or listed again."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The state of a feed."""

    listed_s: float
    """The last contact that confirmed the list of items."""
    items: Mapping[int, RememberedItem] = field(default_factory=dict)
    """The items of the last document, by name."""
    gone: Mapping[int, RememberedItem] = field(default_factory=dict)
    """Items that are no longer listed, in the order of their removal."""
    hints: Hints = field(default_factory=Hints)
    serial: int = 0
    """The serial of the last list. It increases whenever items are new, edited or listed again."""
    versions: tuple[tuple[str, int], ...] = ()
    """Entity tags and the serials of their lists, the latest last."""
    edited: int = 0
    """How many edits of items were found. An edit is not an update."""
    away: bool = False
    """Whether the last contact returned something else, such as an HTML page."""

    def seen_under(self, tag: str) -> int | None:
        """Return the serial of the list with an entity tag; None if it is unknown."""
        return next((serial for known, serial in reversed(self.versions) if known == tag), None)


class FeedChange(NamedTuple):
    """The postings found in a document, and the new state of the feed."""

    feed: Feed
    postings: tuple[tuple[float, float], ...]
    """Each in (after, by], s; both are equal if the time is known."""
    since_s: float | None = None
    """For a first document: from when on its list is complete."""


def read_first(listing: Listing, t_s: float) -> FeedChange:
    """Return the postings in the first document of a feed, received at `t_s`."""
    items = {item.name: RememberedItem(item.content, 1) for item in listing.items()}
    times = sorted({item.time_s for item in listing.items() if EARLIEST_S <= item.time_s <= t_s})
    feed = Feed(t_s, items, hints=listing.hints, serial=1, versions=_with_version((), listing.tag, 1))
    return FeedChange(feed, tuple((time_s, time_s) for time_s in times), times[0] if times else None)


def read_next(feed: Feed, listing: Listing, t_s: float, posted_s: Collection[float]) -> FeedChange:
    """Return the new postings in a later document. `posted_s`: the times of known postings.

    An item with an unknown name but exactly the time of a known posting is that posting: feeds change the identifiers
    of all items when their site moves.
    """
    serial, edited = feed.serial + 1, 0
    items: dict[int, RememberedItem] = {}
    new: list[float] = []
    for item in listing.items():
        before = feed.items.get(item.name)
        known = before or feed.gone.get(item.name)
        if known is None and item.time_s not in posted_s:
            new.append(item.time_s)
        edited += known is not None and known.content != item.content
        items[item.name] = before if before and before.content == item.content else RememberedItem(item.content, serial)
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
    return FeedChange(shown, _postings(new, feed.listed_s, t_s))


def _postings(times_s: Iterable[float], last_s: float, t_s: float) -> tuple[tuple[float, float], ...]:
    """Return when new items with these times, latest first, were posted.

    Postings of unknown time divide the interval evenly, as two updates at one moment would count as one.
    """
    times = list(times_s)
    dated = {time_s for time_s in times if last_s - _EARLY_S < time_s <= t_s}
    n = sum(time_s not in dated for time_s in times)
    if not math.isfinite(last_s):  # the clock was set back: the interval is unknown
        n = 0
    width_s = (t_s - last_s) / n if n else 0.0
    spread = ((last_s + place * width_s, last_s + (place + 1) * width_s) for place in range(n))
    return (*((time_s, time_s) for time_s in sorted(dated)), *spread)


def _with_version(versions: tuple[tuple[str, int], ...], tag: str, serial: int) -> tuple[tuple[str, int], ...]:
    """Add an entity tag. A known tag keeps its serial: clients that have it have seen at least that list."""
    if not tag or any(known == tag for known, _ in versions):
        return versions
    return (*versions, (tag, serial))[-VERSIONS_REMEMBERED:]
