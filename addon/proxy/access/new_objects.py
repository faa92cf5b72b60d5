"""A bound on new objects: clients cannot fill the store with invented URLs.

A web page can make its visitors request any number of URLs, and the history of an object that was requested twice is
kept for half a year.
"""

from cachetools import LRUCache

from bestbefore.policies.units import DAY_S

PER_DAY = 50_000
"""How many new objects of one registrable domain are admitted to the store per day (UTC). Responses for further ones
are forwarded, and neither stored nor learnt from. Counted by domain, as a domain may have any number of hosts."""
DOMAINS_COUNTED = 16_384


class NewObjects:
    """Counts the new objects of each domain today."""

    def __init__(self) -> None:
        self._today: LRUCache[str, tuple[int, int]] = LRUCache(DOMAINS_COUNTED)
        """Domain -> day since the epoch, new objects on it."""

    def admits(self, domain: str, now_s: float) -> bool:
        """Whether one more object of the domain may be stored; if so, count it."""
        day = int(now_s // DAY_S)
        counted_on, count = self._today.get(domain, (day, 0))
        if counted_on != day:
            count = 0
        if count >= PER_DAY:
            return False
        self._today[domain] = day, count + 1
        return True
