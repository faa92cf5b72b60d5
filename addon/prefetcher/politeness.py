"""Politeness: when a domain may be fetched from again. A state machine; time and random generator are arguments.

The unit is the registrable domain: a 429 or 503 of one of its hosts pauses all of them. Times are policy time, in which
fetches are planned.
"""

import math
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache

from bestbefore.addon.rfc9111.fields.dates import parse_http_date
from bestbefore.policies.units import DAY_S, HOUR_S

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 6 * HOUR_S
"""The pause after a 429, a 503 or no response; it doubles from the first to the longest."""
RETRY_JITTER = 0.1
"""The most that is added to a Retry-After, as a share of it, so that several proxies do not return at the same time."""
LONGEST_RETRY_S = 30 * DAY_S
"""The longest accepted Retry-After; a longer one is limited to this."""
DOMAINS_KEPT = 65_536

_BUSY = frozenset((429, 503))


def retry_after_s(value: str | None, now_s: float) -> float | None:
    """Parse a Retry-After in either of its forms (RFC 9110 10.2.3) into seconds; None if missing or malformed."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_RETRY_S)
    date_s = parse_http_date(text, now_s)
    return None if date_s is None else min(max(date_s - now_s, 0.0), LONGEST_RETRY_S)


@dataclass(slots=True)
class _Domain:
    """The state of one domain."""

    now_s: float = -math.inf
    """When the state was last used, by which a clock that was set back is detected."""
    under_way: int = 0
    started_s: float = -math.inf
    paused_until_s: float = -math.inf
    failures: int = 0
    """Consecutive failures."""

    def at(self, now_s: float) -> None:
        """Advance to a moment. If the clock was set back, remaining waits keep their length."""
        if now_s < self.now_s:
            self.started_s -= self.now_s - now_s
            self.paused_until_s -= self.now_s - now_s
        self.now_s = now_s


class Politeness:
    """Computes for each domain how long to wait, from its fetches and all its responses."""

    def __init__(self, interval_s: float, connections: int, rng: np.random.Generator) -> None:
        """A fetch may begin `interval_s` after the start of the last one, while fewer than `connections` are active."""
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
        """Return how long the domain is still paused, s; 0 if it is not."""
        return max(0.0, self._at(domain, now_s).paused_until_s - now_s)

    def started(self, domain: str, now_s: float) -> None:
        """Record the start of a fetch."""
        state = self._at(domain, now_s)
        state.under_way += 1
        state.started_s = now_s

    def ended(self, domain: str, now_s: float) -> None:
        """Record the end of a fetch, successful or not."""
        state = self._at(domain, now_s)
        state.under_way = max(0, state.under_way - 1)

    def answered(self, domain: str, status: int, retry_after: str | None, now_s: float) -> None:
        """Record a response of an origin, to a fetch or to a client's request.

        429 and 503 pause the whole domain: for Retry-After; without one, or if that has passed, as after no response.
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
        """Record a missing response: the pause doubles each time, times a random factor from 0.5 to 1.5."""
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
