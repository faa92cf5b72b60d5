"""The rates believed of feeds that fell silent or began to post, where the mean of the whole history is far off."""

import numpy as np
import pytest

from bestbefore.policies.models.hazard.after_contact import rate_after_contact
from bestbefore.policies.models.hazard.experts import PRIOR_PER_S
from bestbefore.policies.models.hazard.memory import memory_since, updated_at
from bestbefore.policies.units import DAY_S


def believed_per_day(times_days: np.ndarray, now_days: float) -> float:
    memory = memory_since(0.0)
    for t in (times_days * DAY_S).tolist():
        memory = updated_at(memory, t, t)
    return DAY_S * rate_after_contact(memory, now_days * DAY_S, PRIOR_PER_S)


def test_without_history_it_is_the_prior():
    assert believed_per_day(np.array([]), 0.0) == pytest.approx(1.0)


def test_a_steady_rate_is_believed():
    times = np.cumsum(np.random.default_rng(1).exponential(0.25, 400))
    seen = [believed_per_day(times[times < now], now) for now in np.linspace(40.0, 99.0, 30).tolist()]
    assert np.mean(seen) == pytest.approx(4.0, rel=0.25)


def test_a_feed_silent_for_a_hundred_days_is_not_believed_at_its_mean():
    times = np.cumsum(np.random.default_rng(2).exponential(0.1, 2000))
    silent = believed_per_day(times[times < 100.0], 200.0)
    assert silent < 0.6
    assert believed_per_day(times[times < 100.0], 101.5) < 5.0


def test_a_feed_that_began_to_post_is_believed():
    times = 195.0 + np.cumsum(np.random.default_rng(3).exponential(0.1, 200))
    now = believed_per_day(times[times < 200.0], 200.0)
    assert 3.0 < now < 15.0  # 0.25 by the mean of the 200 days
