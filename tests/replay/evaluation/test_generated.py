import numpy as np

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.evaluation.generated import LONG, MOST_OBJECTS, NEXT, SHORT, generated

OFTEN = {f"g/{i}": np.arange(50 * 24) * HOUR_S + i for i in range(70)}


def test_a_trace_has_history_then_requests_and_is_drawn_by_its_seed() -> None:
    own, again = generated("f", "g", OFTEN, seed=1), generated("f", "g", OFTEN, seed=1)
    assert np.array_equal(own.requests.times_s, again.requests.times_s)
    assert not np.array_equal(own.requests.times_s[:99], generated("f", "g", OFTEN, seed=2).requests.times_s[:99])
    assert own.test_start_s - own.origin_s == SHORT.history_s
    assert own.test_start_s - SHORT.test_s <= own.requests.times_s[0]
    assert own.requests.times_s[-1] < own.test_start_s + SHORT.test_s
    assert own.origin_s <= own.updates.times_s[0]


def test_requests_have_the_rate_that_is_asked_for_popularity_nights_and_followers() -> None:
    own = generated("f", "g", OFTEN, seed=1)
    assert len(own.requests.objects) == MOST_OBJECTS
    expected = MOST_OBJECTS * SHORT.per_day * 2 * SHORT.test_s / DAY_S
    assert abs(len(own.requests) / expected - 1.0) < 0.05
    by_object = np.bincount(own.requests.object_ids)
    assert by_object[0] > 5 * by_object[-1]
    hours = own.requests.times_s % DAY_S // HOUR_S
    by_day = np.count_nonzero((hours >= 7) & (hours < 22)) / 15
    assert 0.25 < np.count_nonzero((hours < 7) | (hours >= 22)) / 9 / by_day < 0.4
    assert 0.1 < NEXT < 0.5


def test_updates_of_objects_that_change_seldom_are_taken_from_a_longer_span() -> None:
    seldom = {f"g/{i}": np.arange(100) * 20 * DAY_S for i in range(5)}
    assert generated("f", "g", seldom, seed=1).test_start_s % DAY_S == 0.0
    assert len(generated("f", "g", seldom, seed=1).updates) >= 5 * int((LONG.history_s + LONG.test_s) / DAY_S / 20) - 5
