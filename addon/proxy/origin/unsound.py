"""Origins whose connections must not be reused, because they sent unexpected data."""

from collections.abc import Callable, Hashable

from cachetools import TTLCache

from bestbefore.policies.units import HOUR_S

UNSOUND_S = HOUR_S
"""How long connections to an origin are not reused after unexpected data."""
UNSOUND_AT_MOST = 10_000


class UnsoundOrigins:
    """The origins that sent unexpected data within the last hour."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._origins: TTLCache[Hashable, bool] = TTLCache(UNSOUND_AT_MOST, UNSOUND_S, timer=monotonic)

    def add(self, origin: Hashable) -> None:
        """Do not reuse connections to this origin for an hour."""
        self._origins[origin] = True

    def __contains__(self, origin: Hashable) -> bool:
        return origin in self._origins
