"""Tombstones in process: invalidated, purged and forgotten objects, with times."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_groups import is_group
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rfc9111.patterns import matches_stars
from bestbefore.addon.rules import Pattern
from bestbefore.addon.store.backend.interface import Backend, KeptCopy, Tombstone, Versioned
from bestbefore.addon.store.cache.faults import Faults, short, write_each
from bestbefore.addon.store.cache.write_behind import any_of
from bestbefore.policies.units import DAY_S

TOMBSTONES_KEPT_S = DAY_S
"""How long tombstones are kept. Their copies are removed at once; a tombstone must only outlive fetches and queued
writes that began before it. A proxy that was disconnected for longer drops all its copies."""
TOMBSTONES_AT_MOST = 100_000
"""How many tombstones are kept: each unsafe request writes one, and clients choose the URLs. Beyond it the earliest are
removed. A proxy that may have missed one drops all its copies."""
WAITING_URLS = 50_000
"""How many tombstones of single URLs may be pending. Beyond it all older copies in the backend count as dead."""

BATCH = 500


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a matcher of URLs for a URL, a URL with `*` for any text, or a pattern as in the configuration.

    Raises ValueError with a message for the user.
    """
    pattern.encode()  # a command-line argument may be undecodable, and could not be stored
    if names_one(pattern):
        return pattern.__eq__
    if "://" not in pattern:
        of_rules = Pattern.parse(pattern)
        return lambda url: _matches(of_rules, url)
    return partial(matches_stars, pattern)


def _matches(pattern: Pattern, url: str) -> bool:
    try:
        target = Target.parse(url)
    except ValueError:
        return False
    return pattern.host.matches(target.host) and pattern.matches_path(target.path)


def names_one(pattern: str) -> bool:
    """Whether a user's pattern is the URL of one object."""
    return "://" in pattern and "*" not in pattern


def matcher_of(tombstone: Tombstone) -> Callable[[str], bool]:
    """Return the matcher of a tombstone. Raises ValueError for a malformed pattern."""
    return tombstone.pattern.__eq__ if tombstone.exact else matcher(tombstone.pattern)


def copies_of(tombstone: Tombstone) -> Callable[[Copy], bool]:
    """Return the matcher of copies of a tombstone. Raises ValueError for a malformed pattern."""
    if tombstone.exact and is_group(tombstone.pattern):
        return lambda copy: tombstone.pattern in copy.groups
    matches = matcher_of(tombstone)
    return lambda copy: matches(copy.url)


def _later(known: Tombstone, other: Tombstone) -> Tombstone:
    return replace(other, time_s=max(known.time_s, other.time_s), number=max(known.number, other.number))


def forgets(tombstone: Tombstone, found: Versioned) -> bool:
    """Whether a tombstone applies to a record: by the order of their writes, or else by their times."""
    if found.record is None or not tombstone.histories:
        return False
    if tombstone.number and found.at:
        return found.at <= tombstone.number
    return found.record.last_contact_s <= tombstone.time_s


class Tombstones:
    """The tombstones known to this process: its own, and those that it has received.

    Each has the time at which it was applied here, by the clock of this process, which is compared with the times of
    this process' fetches. Copies stored by other processes are compared by numbers.
    """

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.applied_number = 0
        """All tombstones up to this number were applied here; 0 while unknown."""
        self._of_urls: dict[str, Tombstone] = {}
        """By URL or group, the tombstones of single ones, in the order of adding, with the latest time and number."""
        self._forgotten_urls: dict[str, Tombstone] = {}
        """By URL, those that also remove histories."""
        self._of_patterns: dict[Tombstone, Callable[[str], bool]] = {}
        self._waiting_of_urls: dict[tuple[str, bool], Tombstone] = {}
        """Pending ones by URL and whether histories are removed: the latest replaces those before it."""
        self._waiting_of_patterns: dict[Tombstone, Callable[[str], bool]] = {}
        self._all_dead_s: float | None = None
        """Copies of the backend stored up to this time count as dead, since too many tombstones were pending."""

    def add(self, tombstone: Tombstone) -> None:
        """Add a tombstone. Raises ValueError for a malformed pattern."""
        if tombstone.exact:
            known = self._of_urls.pop(tombstone.pattern, tombstone)
            self._of_urls[tombstone.pattern] = _later(known, tombstone)
            if len(self._of_urls) > TOMBSTONES_AT_MOST:
                del self._of_urls[next(iter(self._of_urls))]
            if tombstone.histories:
                known = self._forgotten_urls.get(tombstone.pattern, tombstone)
                self._forgotten_urls[tombstone.pattern] = _later(known, tombstone)
        else:
            matches = self._of_patterns.pop(tombstone, None) or matcher_of(tombstone)
            self._of_patterns[tombstone] = matches

    def _that_name(self, url: str, groups: Sequence[str] = ()) -> Iterator[Tombstone]:
        for name in (url, *groups):
            known = self._of_urls.get(name)
            if known is not None:
                yield known
        for tombstone, matches in self._of_patterns.items():
            if matches(url):
                yield tombstone

    def surviving(self, kept: KeptCopy, now_s: float) -> Copy | None:
        """Return a copy of the backend with `stored_s` adjusted to the clock of this process; None if it is dead.

        `stored_s` becomes later than the tombstones that the copy has survived, and not later than now.
        """
        copy, stored_s = kept.copy, min(kept.copy.stored_s, now_s)
        if self.waits(copy.url, copy.groups):
            return None
        for tombstone in self._that_name(copy.url, copy.groups):
            if kept.applied is None or not tombstone.number:
                if copy.stored_s < tombstone.time_s:
                    return None
            elif kept.applied < tombstone.number:
                return None
            stored_s = max(stored_s, tombstone.time_s)
        return copy if stored_s == copy.stored_s else replace(copy, stored_s=stored_s)

    def is_invalidated(self, url: str, stored_s: float, groups: Sequence[str] = ()) -> bool:
        """Whether a copy of an object, in these groups, stored at this time is dead."""
        return any(stored_s < tombstone.time_s for tombstone in self._that_name(url, groups))

    def is_forgotten(self, found: Versioned) -> bool:
        """Whether a record was forgotten after it was written."""
        if found.record is None:
            return False
        url = found.record.url
        known = self._forgotten_urls.get(url)
        return (known is not None and forgets(known, found)) or any(
            forgets(t, found) and matches(url) for t, matches in self._of_patterns.items()
        )

    def trim(self, now_s: float, *, steady: bool = True) -> None:
        """Remove expired tombstones, and those with later times than now, as the clock was set back.

        `steady`: whether the clock has been steady, so that the age of tombstones can be trusted.
        """
        oldest_s, newest_s = now_s - TOMBSTONES_KEPT_S if steady else -math.inf, now_s + CLOCK_SKEW_S
        self._of_urls = {url: t for url, t in self._of_urls.items() if oldest_s < t.time_s <= newest_s}
        self._forgotten_urls = {url: t for url, t in self._forgotten_urls.items() if oldest_s < t.time_s <= newest_s}
        self._of_patterns = {t: m for t, m in self._of_patterns.items() if oldest_s < t.time_s <= newest_s}

    # To be written

    def queue(self, tombstone: Tombstone) -> None:
        """Add a tombstone of this process, to be written to the backend. Raises ValueError for a malformed pattern."""
        self.add(tombstone)
        if not tombstone.exact:
            self._waiting_of_patterns[tombstone] = matcher_of(tombstone)
            return
        name = tombstone.pattern, tombstone.histories
        self._waiting_of_urls[name] = max(self._waiting_of_urls.get(name, tombstone), tombstone)
        if len(self._waiting_of_urls) > WAITING_URLS:
            self._all_dead_s = max(t.time_s for t in self._waiting_of_urls.values())
            self._waiting_of_urls = {name: t for name, t in self._waiting_of_urls.items() if t.histories}
            self.queue(Tombstone(self._all_dead_s, "*", exact=False))

    @property
    def waiting(self) -> int:
        """The number of pending tombstones."""
        return len(self._waiting_of_urls) + len(self._waiting_of_patterns)

    def pending(self) -> list[Tombstone]:
        """Return the pending tombstones."""
        return [*self._waiting_of_urls.values(), *self._waiting_of_patterns]

    def waits(self, url: str, groups: Sequence[str] = ()) -> bool:
        """Whether a tombstone of this object, or of one of these groups, is pending."""
        names = (url, *groups)
        return any((name, histories) in self._waiting_of_urls for name in names for histories in (False, True)) or any(
            matches(url) for matches in self._waiting_of_patterns.values()
        )

    def numbered(self, tombstone: Tombstone) -> Tombstone:
        """Return a tombstone of this process with its number, if it has one."""
        same = (t for t in self._that_name(tombstone.pattern) if t == tombstone) if tombstone.exact else (
            t for t in self._of_patterns if t == tombstone
        )
        number = max((t.number for t in same), default=0)
        return replace(tombstone, number=number)

    def is_broken(self, found: Sequence[Tombstone], last: int) -> bool:
        """Whether a tombstone was missed since the last that was applied.

        `found`: those in the backend; `last`: the number of the last one written before `found` was read.
        """
        if not self.applied_number:
            return False
        at = self.applied_number
        for tombstone in sorted((t for t in found if t.number > at), key=lambda t: t.number):
            if tombstone.after != at:
                return True
            at = tombstone.number
        return at < last or last < self.applied_number

    def mark_applied(self, tombstone: Tombstone) -> None:
        """Advance `applied_number`, unless earlier tombstones have not been received yet."""
        if tombstone.after == self.applied_number:
            self.applied_number = tombstone.number

    async def _add_to(self, backend: Backend, batch: Sequence[Tombstone]) -> None:
        for tombstone in await backend.add_tombstones(batch, self.applied_number):
            self.add(tombstone)
            self.mark_applied(tombstone)

    def is_waiting(self, tombstone: Tombstone) -> bool:
        """Whether this tombstone, or one that replaced it, is pending."""
        if not tombstone.exact:
            return tombstone in self._waiting_of_patterns
        return (tombstone.pattern, tombstone.histories) in self._waiting_of_urls or self._all_dead_s is not None

    def snapshot(self) -> Callable[[], bool]:
        """Return a function that tells whether any of the tombstones pending now is still pending."""
        return any_of(self.pending(), self.is_waiting)

    async def write(self, backend: Backend) -> None:
        """Write a batch to the backend. Raises UnavailableError, UnwritableError."""
        batch = list(islice(chain(self._waiting_of_urls.values(), self._waiting_of_patterns), BATCH))
        for tombstone, error in await write_each(batch, partial(self._add_to, backend)):
            message = f"the tombstone of {short(tombstone.pattern)} cannot be written to the store: {error}"
            self._faults.add("tombstone", message)
        everything = [t for t in batch if not t.exact and t.time_s == self._all_dead_s]
        if everything:
            async for urls in backend.copied():
                await backend.remove(urls, self.numbered(everything[0]))
            self._all_dead_s = None
        for tombstone in batch:
            name = tombstone.pattern, tombstone.histories
            if not tombstone.exact:
                self._waiting_of_patterns.pop(tombstone, None)
            elif self._waiting_of_urls.get(name) == tombstone:  # not a later one, which replaced it
                del self._waiting_of_urls[name]
