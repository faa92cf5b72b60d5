"""The laws of objects that change like clockwork."""

import numpy as np
import pytest

from bestbefore.policies.models.clockwork.beats import PUBLISHED_S
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.planning.inputs.clockwork_laws import clockwork_law

MIDNIGHT_S = 19_700 * DAY_S


def test_a_daily_object_has_one_moment_a_day() -> None:
    law = clockwork_law(MIDNIGHT_S + np.arange(30) * DAY_S + 9 * HOUR_S, 0.8, DAY_S)
    assert law is not None
    assert law.times.tolist() == pytest.approx([(9 * HOUR_S + PUBLISHED_S) / DAY_S], abs=10.0 / DAY_S)
    assert law.probabilities.tolist() == pytest.approx([0.8])


def test_an_hourly_object_has_24_moments_whose_probabilities_follow_its_hours() -> None:
    times_s = MIDNIGHT_S + np.array([d * DAY_S + h * HOUR_S + 600.0 for d in range(12) for h in range(8, 16)])
    law = clockwork_law(times_s, 8.0, DAY_S)
    assert law is not None
    assert law.times == pytest.approx((np.arange(24) * HOUR_S + 600.0 + PUBLISHED_S) / DAY_S, abs=10.0 / DAY_S)
    assert law.probabilities.sum() <= 8.0
    assert law.probabilities[8:16].min() > 10.0 * law.probabilities[:8].max()


def test_beats_that_are_not_those_of_each_period_have_no_law() -> None:
    weekly_s = MIDNIGHT_S + np.arange(30) * 7 * DAY_S
    assert clockwork_law(weekly_s, 1 / 7, DAY_S) is None
    week = clockwork_law(weekly_s, 1.0, 7 * DAY_S)
    assert week is not None
    assert week.probabilities.tolist() == pytest.approx([1.0])
    assert clockwork_law(weekly_s, 100.0, 700 * DAY_S) is None
    assert clockwork_law(MIDNIGHT_S + np.cumsum(np.random.default_rng(1).exponential(DAY_S, 60)), 1.0, DAY_S) is None
