"""Tombstones in process: what was invalidated, purged or forgotten, and when."""

import math
from collections.abc import Callable
from functools import partial
from itertools import chain, islice

from bestbefore.addon.engine.learning import CLOCK_SKEW_S, Record
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import Pattern, matches_stars
from bestbefore.addon.store.interface import Backend, Tombstone

TOMBSTONES_KEPT_S = 86_400.0
"""How long tombstones are kept. The copies they name are removed at once; a tombstone must only outlive what may still
be on its way: a fetch, a write in a queue. A proxy that was cut off for longer keeps none of its copies."""
TOMBSTONES_AT_MOST = 100_000
"""How many are kept: each request that may change something writes one, and clients choose the URLs. Beyond it the
earliest leave. A proxy that may have missed one keeps none of its copies."""
WAITING_URLS = 50_000
"""How many may wait that name one URL. Beyond it everything that the backend has from before is held for dead."""

BATCH = 500


def matcher(pattern: str) -> Callable[[str], bool]:
    """Which URLs are meant: by a URL, by a URL with `*` for any text, or by a pattern as in the configuration.

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
    """Which URLs a tombstone names. Raises ValueError for a pattern that cannot be read."""
    return tombstone.pattern.__eq__ if tombstone.exact else matcher(tombstone.pattern)


class Tombstones:
    """Those known here: what this process wrote and what it heard of."""

    def __init__(self) -> None:
        self._of_urls: dict[str, float] = {}
        """Those that name one URL, the one added last at the end."""
        self._forgotten_urls: dict[str, float] = {}
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
            known_s = self._of_urls.pop(tombstone.pattern, tombstone.time_s)
            self._of_urls[tombstone.pattern] = max(known_s, tombstone.time_s)
            if len(self._of_urls) > TOMBSTONES_AT_MOST:
                del self._of_urls[next(iter(self._of_urls))]
            if tombstone.histories:
                known_s = self._forgotten_urls.get(tombstone.pattern, tombstone.time_s)
                self._forgotten_urls[tombstone.pattern] = max(known_s, tombstone.time_s)
        else:
            self._of_patterns[tombstone] = matcher_of(tombstone)

    def is_buried(self, url: str, stored_s: float) -> bool:
        """Whether what was stored of an object at this moment is dead."""
        return stored_s < self._of_urls.get(url, stored_s) or any(
            stored_s < t.time_s and matches(url) for t, matches in self._of_patterns.items()
        )

    def is_forgotten(self, record: Record) -> bool:
        """Whether all that a record says was forgotten after it was learnt."""
        return record.last_contact_s <= self._forgotten_urls.get(record.url, -math.inf) or any(
            t.histories and record.last_contact_s <= t.time_s and matches(record.url)
            for t, matches in self._of_patterns.items()
        )

    def trim(self, now_s: float) -> None:
        """Let go of those that have been kept long enough, and of those from a clock that has been set back since."""
        oldest_s, newest_s = now_s - TOMBSTONES_KEPT_S, now_s + CLOCK_SKEW_S
        self._of_urls = {url: t_s for url, t_s in self._of_urls.items() if oldest_s < t_s <= newest_s}
        self._forgotten_urls = {url: t_s for url, t_s in self._forgotten_urls.items() if oldest_s < t_s <= newest_s}
        self._of_patterns = {t: m for t, m in self._of_patterns.items() if oldest_s < t.time_s <= newest_s}

    # To be written

    def queue(self, tombstone: Tombstone) -> None:
        """Add one of our own, which the backend is to be told. Raises ValueError for one that cannot be read."""
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
        """Of how many the backend was not told yet."""
        return len(self._waiting_of_urls) + len(self._waiting_of_patterns)

    def waiting_s(self, url: str) -> float:
        """Up to when what the backend has of an object is dead, though it was not told yet; 0 if it knows all."""
        of_url = (self._waiting_of_urls.get((url, histories)) for histories in (False, True))
        of_patterns = (t for t, matches in self._waiting_of_patterns.items() if matches(url))
        return max((t.time_s for t in (*of_url, *of_patterns) if t is not None), default=0.0)

    async def write(self, backend: Backend) -> None:
        """Tell the backend. Raises AwayError, UnwritableError."""
        telling = list(islice(chain(self._waiting_of_urls.values(), self._waiting_of_patterns), BATCH))
        await backend.bury(telling)
        if self._all_dead_s is not None:
            async for urls in backend.copied():
                await backend.remove(urls, self._all_dead_s)
            self._all_dead_s = None
        for tombstone in telling:
            name = tombstone.pattern, tombstone.histories
            if not tombstone.exact:
                self._waiting_of_patterns.pop(tombstone, None)
            elif self._waiting_of_urls.get(name) == tombstone:  # not a later one, which came meanwhile
                del self._waiting_of_urls[name]
