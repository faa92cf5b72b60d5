"""The politeness towards sites: when a site may be fetched from again. A state machine; time and chance are arguments.

The unit is the registrable domain: what one host of it says about being asked too much holds for all of them. Times
are policy time, in which fetches are planned.
"""

import math
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache

from bestbefore.addon.rfc9111.fields.dates import parse_http_date
from bestbefore.policies.units import DAY_S, HOUR_S

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 6 * HOUR_S
"""After an answer that asks for less, and after none, the pause doubles from the first to the longest."""
RETRY_JITTER = 0.1
"""What is added at most to a Retry-After, as a share of it: those who were sent away together must not come back so."""
LONGEST_RETRY_S = 30 * DAY_S
"""A later Retry-After is taken for a mistake in the year, and for this."""
DOMAINS_KEPT = 65_536

_BUSY = frozenset((429, 503))


def retry_after_s(value: str | None, now_s: float) -> float | None:
    """The seconds that a Retry-After asks for, in either of its forms (RFC 9110 10.2.3); None if it says nothing."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_RETRY_S)
    date_s = parse_http_date(text, now_s)
    return None if date_s is None else min(max(date_s - now_s, 0.0), LONGEST_RETRY_S)


@dataclass(slots=True)
class _Domain:
    """The state of one domain."""

    now_s: float = -math.inf
    """When this was last looked at: a clock that was set back shows by it."""
    under_way: int = 0
    started_s: float = -math.inf
    paused_until_s: float = -math.inf
    failures: int = 0
    """In a row."""

    def at(self, now_s: float) -> None:
        """Go on to a moment. If it is earlier than the last one, what was to come is as far away as it was."""
        if now_s < self.now_s:
            self.started_s -= self.now_s - now_s
            self.paused_until_s -= self.now_s - now_s
        self.now_s = now_s


class Politeness:
    """Says for each domain how long to wait, from what was fetched and what was answered to anybody."""

    def __init__(self, interval_s: float, connections: int, rng: np.random.Generator) -> None:
        """A fetch begins at least `interval_s` after the one before, and while less than `connections` are open."""
        self.interval_s = interval_s
        self.connections = connections
        self._rng = rng
        self._domains: LRUCache[str, _Domain] = LRUCache(DOMAINS_KEPT)

    def wait_s(self, domain: str, now_s: float) -> float:
        """Return how long the next fetch has to wait: 0 if it may begin, infinite until the current one has ended."""
        state = self._at(domain, now_s)
        if state.under_way >= self.connections:
            return math.inf
        return max(0.0, state.started_s + self.interval_s - now_s, state.paused_until_s - now_s)

    def paused_s(self, domain: str, now_s: float) -> float:
        """Return for how long the domain has asked for no requests; 0 if it has not."""
        return max(0.0, self._at(domain, now_s).paused_until_s - now_s)

    def started(self, domain: str, now_s: float) -> None:
        """A fetch has begun."""
        state = self._at(domain, now_s)
        state.under_way += 1
        state.started_s = now_s

    def ended(self, domain: str, now_s: float) -> None:
        """A fetch is over, however it went."""
        state = self._at(domain, now_s)
        state.under_way = max(0, state.under_way - 1)

    def answered(self, domain: str, status: int, retry_after: str | None, now_s: float) -> None:
        """Record an answer of an origin, to a fetch or to the request of a client.

        429 and 503 pause the whole domain: for as long as Retry-After says; else, or if that is over already,
        as after no answer at all.
        """
        state = self._at(domain, now_s)
        if status not in _BUSY:
            state.failures = 0
            return
        asked_s = retry_after_s(retry_after, now_s)
        if not asked_s:
            self.unanswered(domain, now_s)
        else:
            self._pause(state, asked_s * (1.0 + RETRY_JITTER * self._rng.random()))

    def unanswered(self, domain: str, now_s: float) -> None:
        """No answer came: wait twice as long each time, from half to one and a half of that, at random."""
        state = self._at(domain, now_s)
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(state.failures, 20), LONGEST_PAUSE_S)
        state.failures += 1
        self._pause(state, pause_s * (0.5 + self._rng.random()))

    @staticmethod
    def _pause(state: _Domain, pause_s: float) -> None:
        state.paused_until_s = max(state.paused_until_s, state.now_s + pause_s)

    def _at(self, domain: str, now_s: float) -> _Domain:
        state = self._domains.get(domain)
        if state is None:
            state = self._domains[domain] = _Domain()
        state.at(now_s)
        return state
