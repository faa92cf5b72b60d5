"""Objects that change like clockwork are due after the beat that costs least, by their objective."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.models.clockwork.beats import PUBLISHED_S, WEEK_S, ClockBeat, Clockwork
from bestbefore.policies.prefetch.online.clock_due import (
    BeatRates,
    Cost,
    age_integral,
    due_after_beat,
    outdated_time,
    waiting_time,
)
from bestbefore.policies.units import DAY_S, HOUR_S

EVEN = np.ones(48)
THURSDAY_S = 2870 * WEEK_S
DAILY = Clockwork(DAY_S, (ClockBeat(9 * HOUR_S, 9 * HOUR_S + 60.0, 1.0),), 1.0)
BEAT_S = 9 * HOUR_S + 60.0 + PUBLISHED_S


def _stale(age_h: float) -> float:
    return 1.0


def _age(age_h: float) -> float:
    return age_h


@pytest.mark.parametrize(("cost", "of_age"), [(outdated_time, _stale), (age_integral, _age)])
def test_costs_are_means_over_the_first_update(cost: Cost, of_age: Callable[[float], float]) -> None:
    updates, ends_h = np.array([0.3, 0.7, 0.1]), np.array([1.0, 3.0, 7.0])
    first = np.diff(1.0 - np.exp(-np.cumsum(updates)), prepend=0.0)
    expected = [
        sum(
            p * np.mean([of_age(t - end) for t in np.linspace(a, b, 20_001)]) * (b - a)
            for p, end in zip(first, ends_h, strict=True)
            if end <= a
        )
        for a, b in pairwise(ends_h)
    ]
    assert cost(np.cumsum(updates), ends_h) == pytest.approx(expected, rel=1e-4)


@given(
    cost=st.sampled_from([outdated_time, waiting_time, age_integral]),
    updates=st.floats(0.05, 2.0),
    log_price=st.floats(-3.0, 6.0),
)
def test_the_beat_is_that_of_the_cheapest_cycle(cost: Cost, updates: float, log_price: float) -> None:
    price = math.exp(log_price)
    due_s = due_after_beat(cost, BeatRates(DAILY, updates / 24, EVEN), 1.0, price, THURSDAY_S + BEAT_S)
    ends_h = 24.0 * np.arange(1, 252)
    paid = np.concatenate(([0.0], np.cumsum(cost(updates * np.arange(1, 252), ends_h)))) + price
    per_hour = paid / ends_h
    best = int(np.argmin(per_hour[:-1]))
    if due_s == math.inf:
        assert best == 249
    else:
        chosen = round((due_s - THURSDAY_S - BEAT_S) / DAY_S) - 1
        assert per_hour[chosen] == pytest.approx(per_hour[best], rel=1e-9)


def test_beats_at_weekends_count_by_the_share_of_weekends() -> None:
    weekdays_only = np.repeat([7 / 5, 0.0], 24)
    friday_s = THURSDAY_S + DAY_S + BEAT_S
    due_s = due_after_beat(waiting_time, BeatRates(DAILY, 1 / 24, weekdays_only), 1.0, 1.0, friday_s)
    assert due_s == friday_s + 3 * DAY_S


def test_hourly_beats_count_by_their_hours() -> None:
    hourly = Clockwork(HOUR_S, (ClockBeat(600.0, 660.0, 1.0),), 1.0)
    mornings = np.tile([24.0 if hour == 8 else 0.0 for hour in range(24)], 2)
    due_s = due_after_beat(waiting_time, BeatRates(hourly, 1 / 24, mornings), 1.0, 0.5, THURSDAY_S)
    assert due_s == THURSDAY_S + 8 * HOUR_S + 660.0 + PUBLISHED_S


def test_without_a_beat_that_is_worth_it_an_object_is_never_due() -> None:
    assert due_after_beat(outdated_time, BeatRates(DAILY, 3.0, EVEN), 1.0, 1e9, THURSDAY_S) == math.inf
