"""The limits and the weight of the background fetches of an object, by its rule."""

import math
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Literal

from bestbefore.addon.week_times import WeekTimes, closed_stretches, is_never_open, opens_s
from bestbefore.policies.units import DAY_S, HOUR_S

PERIODS_S = {"hour": HOUR_S, "day": DAY_S, "week": 7 * DAY_S}

LONGEST_BY_THETA_S = DAY_S
"""The longest time between two contacts where expected updates decide, so that a wrong expectation is found out."""

type Prefetch = Literal["asked", "always", "never"]
"""Whether an object is fetched in the background: while clients ask for it, always, or never."""


@dataclass(frozen=True, slots=True)
class FetchRate:
    """A number of fetches in a period."""

    fetches: int
    period_s: float

    @property
    def per_day(self) -> float:
        return self.fetches * DAY_S / self.period_s

    def __str__(self) -> str:
        return f"{self.fetches}/{next(name for name, seconds in PERIODS_S.items() if seconds == self.period_s)}"


@dataclass(frozen=True, slots=True)
class PrefetchLimits:
    """The limits and the weight of background fetches of an object. Raises ValueError if they contradict each other."""

    prefetch: Prefetch = "asked"
    """Whether it is fetched in the background: while clients ask for it, never, or always."""
    weight: float = 1.0
    """By how much the requests for it count."""
    prefetch_least: FetchRate | None = None
    """The least number of fetches; None: no bound, as for the largest."""
    prefetch_most: FetchRate | None = None
    """The largest number of fetches."""
    prefetch_delay: float = math.inf
    """The longest time from an update to the fetch that finds it, s: the longest time between two contacts."""
    quiet_hours: tuple[WeekTimes, ...] = ()
    """When nothing is fetched."""
    prefetch_hours: tuple[WeekTimes, ...] = ()
    """The only times at which it is fetched; empty: any."""
    time_zone: tzinfo = UTC
    """The time zone of these times."""
    prefetch_theta: float = 0.0
    """The expected number of updates at which it is fetched; 0: the budget decides when."""

    def __post_init__(self) -> None:
        if self.longest_s < self.shortest_s:
            raise ValueError("prefetch_most is less than prefetch_least and prefetch_delay require")
        if is_never_open(closed_stretches(self.quiet_hours, self.prefetch_hours)):
            raise ValueError("quiet_hours and prefetch_hours leave no time for fetches")

    @property
    def longest_s(self) -> float:
        """The longest time between two contacts, s."""
        least_s = math.inf if self.prefetch_least is None else DAY_S / self.prefetch_least.per_day
        return min(least_s, self.prefetch_delay, LONGEST_BY_THETA_S if self.prefetch_theta else math.inf)

    @property
    def shortest_s(self) -> float:
        """The shortest time between two contacts, s."""
        return 0.0 if self.prefetch_most is None else DAY_S / self.prefetch_most.per_day

    def opens_s(self, now_s: float) -> float:
        """Return the first moment from `now_s` on at which the object may be fetched."""
        closed = closed_stretches(self.quiet_hours, self.prefetch_hours)
        return opens_s(closed, self.time_zone, now_s) if closed else now_s


NO_PREFETCH_LIMITS = PrefetchLimits()
