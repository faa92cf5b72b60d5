import math
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bestbefore.addon.prefetch_limits import NO_PREFETCH_LIMITS, FetchRate, PrefetchLimits
from bestbefore.addon.week_times import WeekTimes
from bestbefore.policies.units import DAY_S, HOUR_S


def test_the_times_between_contacts_follow_from_the_bounds() -> None:
    assert (NO_PREFETCH_LIMITS.shortest_s, NO_PREFETCH_LIMITS.longest_s) == (0.0, math.inf)
    limits = PrefetchLimits(prefetch_least=FetchRate(2, DAY_S), prefetch_most=FetchRate(1, HOUR_S))
    assert (limits.shortest_s, limits.longest_s) == (HOUR_S, 12 * HOUR_S)
    assert PrefetchLimits(prefetch_least=FetchRate(2, DAY_S), prefetch_delay=HOUR_S).longest_s == HOUR_S
    assert PrefetchLimits(prefetch_theta=0.5).longest_s == DAY_S


@pytest.mark.parametrize(
    ("contradiction", "message"),
    [
        ({"prefetch_least": FetchRate(2, DAY_S), "prefetch_most": FetchRate(1, DAY_S)}, "prefetch_most is less"),
        ({"prefetch_delay": HOUR_S, "prefetch_most": FetchRate(1, DAY_S)}, "prefetch_most is less"),
        ({"quiet_hours": (WeekTimes.parse("mon-sun"),)}, "leave no time"),
    ],
)
def test_limits_that_contradict_each_other_are_refused(contradiction: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrefetchLimits(**contradiction)  # type: ignore[arg-type]


def test_fetches_wait_for_the_end_of_quiet_hours() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    limits = PrefetchLimits(quiet_hours=(WeekTimes.parse("22:00-06:00"),), time_zone=berlin)
    midnight_s = datetime(2024, 6, 5, tzinfo=berlin).timestamp()
    assert limits.opens_s(midnight_s) == midnight_s + 6 * HOUR_S
    assert NO_PREFETCH_LIMITS.opens_s(midnight_s) == midnight_s
