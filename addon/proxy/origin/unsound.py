"""Origins whose connections must not be reused, because they sent unexpected data."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from cachetools import TLRUCache

from bestbefore.policies.units import HOUR_S

UNSOUND_S = HOUR_S
"""How long connections to an origin are not reused after unexpected data."""
REPEATED_S = 60.0
"""For how long further unexpected data of an origin changes nothing: each time would be passed on to all workers, and
kept for those that start later."""
UNSOUND_AT_MOST = 10_000


class UnsoundOrigin(NamedTuple):
    """An origin that has sent unexpected data."""

    origin: Hashable
    since_s: float
    """Monotonic: one clock for all processes of a machine."""


class UnsoundOrigins:
    """The origins that sent unexpected data within the last hour."""

    def __init__(
        self, monotonic: Callable[[], float], pass_on: Callable[[UnsoundOrigin], object] = lambda _: None
    ) -> None:
        """`pass_on` is called with what other workers must know too, which they `receive`."""
        self._monotonic = monotonic
        self._pass_on = pass_on
        self._origins: TLRUCache[Hashable, float] = TLRUCache(
            UNSOUND_AT_MOST, lambda _origin, since_s, _now_s: since_s + UNSOUND_S, timer=monotonic
        )

    def add(self, origin: Hashable) -> None:
        """Do not reuse connections to this origin for an hour."""
        found = UnsoundOrigin(origin, self._monotonic())
        known_s = self._origins.get(origin)
        if known_s is not None and found.since_s - known_s < REPEATED_S:
            return
        self._pass_on(found)
        self.receive(found)

    def receive(self, found: UnsoundOrigin) -> None:
        """Add what another worker has passed on."""
        self._origins[found.origin] = found.since_s

    def __contains__(self, origin: Hashable) -> bool:
        return origin in self._origins
