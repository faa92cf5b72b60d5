import math

import pytest

from bestbefore.policies.dissemination.metrics import Condition
from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.channel import Served
from bestbefore.replay.papers.multicast.measures import (
    AGE_DATA,
    CLIENTS,
    COMPLETE,
    DATA,
    DELAY,
    WEEK_AGE,
    WEEK_CLIENTS,
    WEEK_DELAY,
    shown,
)

SERVED = Served(
    [Condition(0.9 - day / 100, 0.8 - day / 100, (1 + day) * DAY_S, (2 + day) * DAY_S) for day in range(9)],
    [1 * DAY_S, 3 * DAY_S, 8 * DAY_S],
)


def test_freshness_and_age_are_those_of_the_last_day() -> None:
    assert (CLIENTS.of(SERVED), DATA.of(SERVED), AGE_DATA.of(SERVED)) == pytest.approx((0.82, 0.72, 10.0))


def test_one_week_is_the_seventh_day() -> None:
    assert (WEEK_CLIENTS.of(SERVED), WEEK_AGE.of(SERVED)) == pytest.approx((0.84, 7.0))


def test_delays_are_those_of_complete_downloaders() -> None:
    assert (DELAY.of(SERVED), WEEK_DELAY.of(SERVED), COMPLETE.of(SERVED)) == (4.0, 2.0, 3.0)
    assert math.isinf(DELAY.of(Served()))


def test_near_is_a_hundredth_of_freshness_and_a_twentieth_of_time() -> None:
    assert CLIENTS.is_near(0.845, 0.85)
    assert not CLIENTS.is_near(0.835, 0.85)
    assert DELAY.is_near(10.4, 10.0)
    assert not DELAY.is_near(10.6, 10.0)


def test_schedulers_are_named_as_in_the_paper() -> None:
    assert [shown(name) for name in ("circ", "rxc_ideal", "another")] == ["Circ", "RxC ideal", "another"]
