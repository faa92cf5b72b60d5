"""The objects that a hub may send, and what was sent of them. Pure: time is an argument."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

import msgspec

from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.keys import variant_of

MOST_ITEMS = 100_000
"""The most objects of a site."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What the hub has of a variant now."""

    content: str
    """A digest of what clients get: status, content and validators."""
    renewal: str
    """What a validation changes of a copy with an explicit lifetime; empty without one."""
    size_bytes: int
    contacted_s: float
    """The last contact with the origin."""

    @classmethod
    def of(cls, copy: Copy) -> "Offered":
        """Return what a copy offers."""
        shown = (copy.head.status, copy.body.digest, str(copy.shown_etag), copy.last_modified_s, copy.selecting)
        digest = hashlib.blake2b(repr(shown).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        renewal = repr(copy.response_time_s) if copy.lifetime is not None and copy.lifetime.lifetime_s > 0 else ""
        return cls(digest, renewal, copy.body.size, copy.response_time_s)


@dataclass(frozen=True, slots=True)
class Sent:
    """What was last sent of a variant, as it is noted beside the stream."""

    place: int
    content: str
    renewal: str = ""
    is_taken: bool = False
    """Whether a notice has taken it back since."""


class Need(IntEnum):
    """What of an object must be sent."""

    NOTHING = 0
    HEAD = 1
    """The head alone: edges have the content."""
    ALL = 2


@dataclass(slots=True, eq=False)
class CatalogueItem:
    """A variant of an object."""

    target: Target
    variant: str
    number: int
    """That of the scheduler."""
    offer: Offered | None = None
    """None: nothing may be sent of it now."""
    sent: Sent | None = None
    interval_s: float = 1.0
    """The mean time between its updates, as the hub knows them."""
    stale_since_s: float | None = None
    """Since when the hub has known that what edges hold of it is outdated."""

    @property
    def key(self) -> str:
        """Its name beside the stream."""
        return f"{self.variant} {self.target.url}"

    def need(self, vouched_from_s: float) -> Need:
        """Return what of it edges need that have read everything.

        `vouched_from_s`: the hub vouches for no object whose origin it has not contacted since.
        """
        if self.offer is None:
            return Need.NOTHING
        if self.sent is None or self.sent.content != self.offer.content:
            return Need.ALL
        if self.sent.is_taken:
            return Need.HEAD if self.offer.contacted_s > vouched_from_s else Need.NOTHING
        return Need.HEAD if self.sent.renewal != self.offer.renewal else Need.NOTHING

    def is_missing(self, since: int) -> bool:
        """Whether an edge that has read everything from a place on has missed its content, or was never sent it."""
        return self.offer is not None and (self.sent is None or self.sent.place < since)

    def is_covered(self) -> bool:
        """Whether edges take a copy of it for current."""
        return self.sent is not None and not self.sent.is_taken


@dataclass(slots=True, eq=False)
class Catalogue:
    """The items of one site."""

    past: dict[str, Sent]
    """What was sent of variants that are no items, by their keys."""
    items: list[CatalogueItem] = field(default_factory=list)
    _by_url: dict[str, dict[str, CatalogueItem]] = field(default_factory=dict)

    def refreshed(self, url: str, copies: Iterable[Copy], now_s: float, interval_s: float = 1.0) -> bool:
        """Note the copies of an object that may be sent now; whether there are items that were none before.

        `interval_s`: the mean time between its updates.
        """
        offers = {variant_of(copy): Offered.of(copy) for copy in copies}
        variants = self._by_url.setdefault(url, {})
        new = [variant for variant in offers if variant not in variants][: MOST_ITEMS - len(self.items)]
        for variant in new:
            item = variants[variant] = CatalogueItem(Target.parse(url), variant, len(self.items))
            item.sent = self.past.pop(item.key, None)
            self.items.append(item)
        for variant, item in variants.items():
            item.offer, item.interval_s = offers.get(variant), interval_s
            is_outdated = item.offer is None or (item.sent is not None and item.sent.content != item.offer.content)
            if not is_outdated or not item.is_covered():
                item.stale_since_s = None
            elif item.stale_since_s is None:
                item.stale_since_s = now_s
        if not variants:
            del self._by_url[url]
        return bool(new)

    def of_url(self, url: str) -> Iterable[CatalogueItem]:
        """Return the items of an object."""
        return self._by_url.get(url, {}).values()

    def keep(self, is_wanted: Callable[[Target], bool]) -> list[str]:
        """Keep only the items that are wanted; return the keys of past items that are too many to be remembered."""
        wanted = [item for item in self.items if is_wanted(item.target)]
        kept = set(map(id, wanted))
        self.past |= {item.key: item.sent for item in self.items if item.sent is not None and id(item) not in kept}
        self.items, self._by_url = wanted, {}
        for number, item in enumerate(wanted):
            item.number = number
            self._by_url.setdefault(item.target.url, {})[item.variant] = item
        gone = sorted(self.past, key=lambda key: self.past[key].place)[: max(0, len(self.past) - MOST_ITEMS)]
        for key in gone:
            del self.past[key]
        return gone

    def has_sent(self, item: CatalogueItem, offer: Offered, place: int, now_s: float) -> None:
        """Note that an item was sent as it was offered, and the place of its first message."""
        item.sent = Sent(place, offer.content, offer.renewal)
        is_outdated = item.offer is None or item.offer.content != offer.content  # it has changed while it was sent
        item.stale_since_s = now_s if is_outdated else None

    def has_taken(self, item: CatalogueItem, place: int) -> None:
        """Note that an item was taken back."""
        assert item.sent is not None
        item.sent = Sent(place, item.sent.content, item.sent.renewal, is_taken=True)
        item.stale_since_s = None

    def to_take(self, now_s: float, max_wait_s: float, vouch_s: float) -> list[CatalogueItem]:
        """Return the items to take back.

        Their new content has waited for too long, there is nothing to send, or their origin was not contacted for too
        long.
        """
        return [
            item for item in self.items
            if item.is_covered() and (
                item.offer is None
                or now_s - item.offer.contacted_s > vouch_s
                or (item.stale_since_s is not None and now_s - item.stale_since_s >= max_wait_s)
            )
        ]  # fmt: skip

    def announced_until_s(self, now_s: float) -> float:
        """Return the time until which all known changes have been sent or taken back."""
        waiting = (item.stale_since_s for item in self.items if item.stale_since_s is not None)
        return min(waiting, default=now_s)


def encode_sent(sent: Sent) -> bytes:
    """Encode what was sent, without its place, which the stream gives."""
    return msgspec.msgpack.encode((sent.content, sent.renewal, sent.is_taken))


def decode_sent(place: int, encoded: bytes) -> Sent | None:
    """Decode what was sent; None if it is malformed."""
    try:
        content, renewal, is_taken = msgspec.msgpack.decode(encoded, type=tuple[str, str, bool])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Sent(place, content, renewal, is_taken)

