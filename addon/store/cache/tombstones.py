"""Tombstones in process: what was invalidated, purged or forgotten, and when."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from bestbefore.addon.engine.learning import CLOCK_SKEW_S
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import Pattern, matches_stars
from bestbefore.addon.store.backend.interface import Backend, KeptCopy, Tombstone, Versioned
from bestbefore.addon.store.cache.faults import Faults, shown, write_each
from bestbefore.addon.store.cache.write_behind import any_of
from bestbefore.policies.units import DAY_S

TOMBSTONES_KEPT_S = DAY_S
"""How long tombstones are kept. The copies they name are removed at once; a tombstone must only outlive what may still
be on its way: a fetch, a write in a queue. A proxy that was cut off for longer keeps none of its copies."""
TOMBSTONES_AT_MOST = 100_000
"""How many are kept: each request that may change something writes one, and clients choose the URLs. Beyond it the
earliest leave. A proxy that may have missed one keeps none of its copies."""
WAITING_URLS = 50_000
"""How many may wait that name one URL. Beyond it everything that the backend has from before counts as dead."""

BATCH = 500


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a matcher of URLs: for a URL, for a URL with `*` for any text, or for a pattern as in the configuration.

    Raises ValueError, which says what is wrong, for none of these.
    """
    pattern.encode()  # what comes from a command line may be no text; it could not be written
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
    """Whether this pattern of a user is the URL of one object."""
    return "://" in pattern and "*" not in pattern


def matcher_of(tombstone: Tombstone) -> Callable[[str], bool]:
    """Return the matcher of a tombstone. Raises ValueError for a pattern that cannot be read."""
    return tombstone.pattern.__eq__ if tombstone.exact else matcher(tombstone.pattern)


def _later(known: Tombstone, other: Tombstone) -> Tombstone:
    return replace(other, time_s=max(known.time_s, other.time_s), number=max(known.number, other.number))


def forgets(tombstone: Tombstone, found: Versioned) -> bool:
    """Whether a record was learnt before a tombstone that names it: by when it was written, if that is known."""
    if found.record is None or not tombstone.histories:
        return False
    if tombstone.number and found.at:
        return found.at <= tombstone.number
    return found.record.last_contact_s <= tombstone.time_s


class Tombstones:
    """The tombstones known to this process: its own, and those it received.

    Each has the time of this process' clock at which it was applied here, whatever the clock of its writer showed: so
    it can be compared with the times of what this process fetches. What others stored is compared by numbers.
    """

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.applied_number = 0
        """The number up to which all tombstones were applied here; 0 while that is not known."""
        self._of_urls: dict[str, Tombstone] = {}
        """Those that name one URL, the one added last at the end, with the latest time and number of all."""
        self._forgotten_urls: dict[str, Tombstone] = {}
        """Those of them that are about histories too."""
        self._of_patterns: dict[Tombstone, Callable[[str], bool]] = {}
        self._waiting_of_urls: dict[tuple[str, bool], Tombstone] = {}
        """By URL and whether histories are forgotten: the latest says all that those before it did."""
        self._waiting_of_patterns: dict[Tombstone, Callable[[str], bool]] = {}
        self._all_dead_s: float | None = None
        """Up to when all copies of the backend are yet to be removed, since too many tombstones waited."""

    def add(self, tombstone: Tombstone) -> None:
        """Raises ValueError for a pattern that cannot be read."""
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

    def _that_name(self, url: str) -> Iterator[Tombstone]:
        known = self._of_urls.get(url)
        if known is not None:
            yield known
        for tombstone, matches in self._of_patterns.items():
            if matches(url):
                yield tombstone

    def surviving(self, kept: KeptCopy, now_s: float) -> Copy | None:
        """A copy that the backend has, with the time at which it was stored as this process' clock can compare it.

        None if it is dead. A later tombstone is after what is read now, and one that it has survived before it.
        """
        copy, stored_s = kept.copy, min(kept.copy.stored_s, now_s)
        if self.waits(copy.url):
            return None
        for tombstone in self._that_name(copy.url):
            if kept.applied is None or not tombstone.number:
                if copy.stored_s < tombstone.time_s:
                    return None
            elif kept.applied < tombstone.number:
                return None
            stored_s = max(stored_s, tombstone.time_s)
        return copy if stored_s == copy.stored_s else replace(copy, stored_s=stored_s)

    def is_invalidated(self, url: str, stored_s: float) -> bool:
        """Whether what was stored of an object at this moment is dead."""
        known = self._of_urls.get(url)
        return (known is not None and stored_s < known.time_s) or any(
            stored_s < t.time_s and matches(url) for t, matches in self._of_patterns.items()
        )

    def is_forgotten(self, found: Versioned) -> bool:
        """Whether all that a record says was forgotten after it was learnt."""
        if found.record is None:
            return False
        url = found.record.url
        known = self._forgotten_urls.get(url)
        return (known is not None and forgets(known, found)) or any(
            forgets(t, found) and matches(url) for t, matches in self._of_patterns.items()
        )

    def trim(self, now_s: float, *, steady: bool = True) -> None:
        """Remove tombstones that have been kept long enough, and those from a clock that has been set back since.

        `steady`: whether the clock has been, so that it can tell how long.
        """
        oldest_s, newest_s = now_s - TOMBSTONES_KEPT_S if steady else -math.inf, now_s + CLOCK_SKEW_S
        self._of_urls = {url: t for url, t in self._of_urls.items() if oldest_s < t.time_s <= newest_s}
        self._forgotten_urls = {url: t for url, t in self._forgotten_urls.items() if oldest_s < t.time_s <= newest_s}
        self._of_patterns = {t: m for t, m in self._of_patterns.items() if oldest_s < t.time_s <= newest_s}

    # To be written

    def queue(self, tombstone: Tombstone) -> None:
        """Add one of our own, to be written to the backend. Raises ValueError for one that cannot be read."""
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
        """The number of tombstones that are not written to the backend yet."""
        return len(self._waiting_of_urls) + len(self._waiting_of_patterns)

    def waits(self, url: str) -> bool:
        """Whether a tombstone of this object is not written to the backend yet."""
        return any((url, histories) in self._waiting_of_urls for histories in (False, True)) or any(
            matches(url) for matches in self._waiting_of_patterns.values()
        )

    def numbered(self, tombstone: Tombstone) -> Tombstone:
        """Return one of our own tombstones with its number, if it has one."""
        same = (t for t in self._that_name(tombstone.pattern) if t == tombstone) if tombstone.exact else (
            t for t in self._of_patterns if t == tombstone
        )
        number = max((t.number for t in same), default=0)
        return replace(tombstone, number=number)

    def is_broken(self, found: Sequence[Tombstone], last: int) -> bool:
        """Return whether a tombstone was missed since the last that was applied.

        `found` are those in the backend, `last` is the number of the last that was written before they were read.
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
        """Advance `applied_number`, unless tombstones before this one are yet to be received."""
        if tombstone.after == self.applied_number:
            self.applied_number = tombstone.number

    async def _add_to(self, backend: Backend, batch: Sequence[Tombstone]) -> None:
        for tombstone in await backend.add_tombstones(batch, self.applied_number):
            self.add(tombstone)
            self.mark_applied(tombstone)

    def is_waiting(self, tombstone: Tombstone) -> bool:
        """Whether this tombstone, or one that came in its place, is not written to the backend yet."""
        if not tombstone.exact:
            return tombstone in self._waiting_of_patterns
        return (tombstone.pattern, tombstone.histories) in self._waiting_of_urls or self._all_dead_s is not None

    def snapshot(self) -> Callable[[], bool]:
        """Return a test whether any of these tombstones waits still."""
        return any_of([*self._waiting_of_urls.values(), *self._waiting_of_patterns], self.is_waiting)

    async def write(self, backend: Backend) -> None:
        """Write a batch to the backend. Raises UnavailableError, UnwritableError."""
        batch = list(islice(chain(self._waiting_of_urls.values(), self._waiting_of_patterns), BATCH))
        for tombstone, error in await write_each(batch, partial(self._add_to, backend)):
            message = f"the tombstone of {shown(tombstone.pattern)} cannot be written to the store: {error}"
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
            elif self._waiting_of_urls.get(name) == tombstone:  # not a later one, which came meanwhile
                del self._waiting_of_urls[name]
