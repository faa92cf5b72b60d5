"""Origins whose connections cannot be trusted to carry more than one exchange."""

from collections.abc import Callable, Hashable

from cachetools import TTLCache

from bestbefore.policies.units import HOUR_S

UNSOUND_S = HOUR_S
"""For how long no connection to an origin is used twice after one brought what it should not."""
UNSOUND_AT_MOST = 10_000


class UnsoundOrigins:
    """The origins that sent more than they were asked for within the last hour."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._origins: TTLCache[Hashable, bool] = TTLCache(UNSOUND_AT_MOST, UNSOUND_S, timer=monotonic)

    def add(self, origin: Hashable) -> None:
        """Trust no connection of this origin for an hour."""
        self._origins[origin] = True

    def __contains__(self, origin: Hashable) -> bool:
        return origin in self._origins
