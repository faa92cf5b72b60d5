"""A bound on new objects: no client can fill the store with URLs that it makes up.

One page can make its visitors ask for any number of URLs, and one site can link to them. What was asked for twice is
remembered for half a year.
"""

from cachetools import LRUCache

from bestbefore.policies.units import DAY_S

PER_DAY = 50_000
"""How many objects of one registrable domain that were not in the store are let in on one day (UTC). What comes
beyond that passes, and is neither stored nor learnt from. By domain rather than by host: a domain has any number of
hosts."""
DOMAINS_COUNTED = 16_384


class NewObjects:
    """Counts the new objects of each domain today."""

    def __init__(self) -> None:
        self._today: LRUCache[str, tuple[int, int]] = LRUCache(DOMAINS_COUNTED)
        """Domain -> day since the epoch, new objects on it."""

    def admits(self, domain: str, now_s: float) -> bool:
        """Whether one more may come in; counts it if so."""
        day = int(now_s // DAY_S)
        counted_on, count = self._today.get(domain, (day, 0))
        if counted_on != day:
            count = 0
        if count >= PER_DAY:
            return False
        self._today[domain] = day, count + 1
        return True
