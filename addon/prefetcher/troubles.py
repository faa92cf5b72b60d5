"""Why watched objects could not be fetched, and when they are tried again."""

import math
from collections.abc import Collection

from bestbefore.addon.clock import Clock
from bestbefore.addon.prefetcher.eligibility import refused_url
from bestbefore.addon.store.cache.planning import Planning
from bestbefore.addon.store.store import Store
from bestbefore.addon.store.trouble import Trouble
from bestbefore.policies.prefetch.online.estimate import SHORTEST_S
from bestbefore.policies.units import DAY_S

FIRST_S = SHORTEST_S
LONGEST_S = DAY_S
"""The wait until a watched object is tried again; it doubles from the first to the longest."""


class Troubles:
    """The troubles of the objects of one configuration, which are written behind."""

    def __init__(self, watched: Collection[str], clock: Clock) -> None:
        self._watched = watched
        self._known: dict[str, Trouble] = {}
        self._well: set[str] = set()
        """The objects whose last fetch went well, of which the store knows so."""
        self._unwritten: dict[str, Trouble | None] = {}
        for url in watched:
            refusal = refused_url(url)
            if refusal is not None:
                self._set(url, Trouble(refusal, clock.now()))

    async def read(self, planning: Planning) -> None:
        """Take over what other processes have stored, so that nothing is tried earlier after a restart."""
        for url, trouble in (await planning.troubles()).items():
            if url in self._watched and (url not in self._known or trouble.at_s > self._known[url].at_s):
                self._known[url] = trouble

    def failed(self, url: str, what: str, at_s: float, excluded_until_s: float | None = None) -> None:
        """Record that an object could not be fetched, and until when it is excluded, if it is."""
        if url in self._watched:
            failures = 1 if url not in self._known else self._known[url].failures + 1
            again_s = at_s + wait_after(failures) if excluded_until_s is None else excluded_until_s
            self._set(url, Trouble(what, at_s, failures, again_s if math.isfinite(again_s) else None))

    def fetched(self, url: str, at_s: float) -> None:
        """Record that an object was fetched, by a client too."""
        known = self._known.get(url)
        if url in self._watched and url not in self._well and (known is None or at_s > known.at_s):
            self._set(url, None)

    async def recheck(self, url: str, store: Store) -> None:
        """End the trouble of an object that a client has fetched since."""
        if url in self._known:
            copies = (await store.copies(url)).copies
            self.fetched(url, max((copy.current_s for copy in copies if copy.head.status == 200), default=-math.inf))

    def wait_s(self, url: str) -> float | None:
        """Return after how long an object is tried again; None if its last fetch went well."""
        known = self._known.get(url)
        return None if known is None else wait_after(known.failures)

    async def write(self, planning: Planning) -> None:
        """Write what was noted to the store."""
        unwritten, self._unwritten = self._unwritten, {}
        if unwritten and not await planning.put_troubles(unwritten):
            self._unwritten = {**unwritten, **self._unwritten}

    def _set(self, url: str, trouble: Trouble | None) -> None:
        self._unwritten[url] = trouble
        if trouble is None:
            self._well.add(url)
            self._known.pop(url, None)
        else:
            self._well.discard(url)
            self._known[url] = trouble


def wait_after(failures: int) -> float:
    """Return how long to wait after so many failures in a row, s."""
    return min(FIRST_S * 2.0 ** min(failures - 1, 20), LONGEST_S)
