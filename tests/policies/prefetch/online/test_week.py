"""The updates expected between two times, and when enough of them wait, by hand and against small steps of time."""

import math

import numpy as np
import pytest

from bestbefore.policies.prefetch.online.week import KIND_OF, KINDS, WEEK_H, WEEK_S, WeekRates, bytes_of
from bestbefore.policies.units import BINS, DAY_S, HOUR_S

FLAT = np.full((1, BINS), 10, dtype=np.uint8)
TWO_SEVENTHS = np.array([73], dtype=np.uint8)


def one(rate: float, hours: np.ndarray = FLAT, weekend: int = 73) -> WeekRates:
    return WeekRates(np.array([rate]), hours.reshape(1, BINS), np.array([weekend], dtype=np.uint8))


def test_the_kinds_of_hours_begin_with_a_thursday():
    assert KIND_OF[:3].tolist() == [0, 1, 2]
    weekend = np.flatnonzero(KIND_OF >= BINS)
    assert (int(weekend[0]), weekend.size) == (2 * BINS, 2 * BINS)


def test_a_profile_becomes_bytes_relative_to_its_mean():
    assert bytes_of(np.full(BINS, 1 / BINS)).tolist() == [10] * BINS
    peak = np.zeros(BINS)
    peak[3] = 0.2
    assert bytes_of(peak).max() == 240


def test_updates_between_two_times_follow_hours_and_weekends():
    working = np.zeros(BINS, dtype=np.uint8)
    working[8:16] = 10
    week = one(1.0, working, weekend=0)
    between = lambda a, b: float(week.between(np.array([a * HOUR_S]), np.array([b * HOUR_S]))[0])  # noqa: E731
    assert between(0, 7 * BINS) == pytest.approx(WEEK_H)
    assert between(8, 9) == pytest.approx(3.0 * 7 / 5)
    assert between(15.5, 24 + 8.5) == pytest.approx(3.0 * 7 / 5)
    assert between(2 * BINS, 4 * BINS) == pytest.approx(0.0)
    assert between(1e6 * WEEK_H, 1e6 * WEEK_H + 24) == pytest.approx(24.0 * 7 / 5)


def test_at_a_constant_rate_enough_wait_after_their_number_over_the_rate():
    week = one(0.5)
    for from_h in (0.0, 3.0, 10.0, 4000.0):
        found = week.first_reaching(np.full((1, KINDS), 2.0), np.array([0.0]), np.array([from_h * HOUR_S]))
        assert found / HOUR_S == pytest.approx([max(4.0, from_h)], rel=2e-3)
    rare = one(1e-3).first_reaching(np.full((1, KINDS), 5.0), np.array([7.3e8]), np.array([7.3e8]))
    assert rare - 7.3e8 == pytest.approx([5000 * HOUR_S], rel=2e-3)


def test_never_where_enough_is_infinite_or_nothing_is_updated():
    never = np.full((1, KINDS), math.inf)
    zero = np.array([0.0])
    assert one(1.0).first_reaching(never, zero, zero).tolist() == [math.inf]
    assert one(0.0).first_reaching(np.full((1, KINDS), 1.0), zero, zero).tolist() == [math.inf]


def test_the_first_moment_is_that_found_in_small_steps():
    random = np.random.default_rng(5)
    for _ in range(12):
        hours = random.integers(0, 60, BINS).astype(np.uint8)
        rate, weekend = float(random.lognormal(-2.0, 1.0)), int(random.integers(0, 256))
        week = one(rate, hours, weekend)
        waiting = random.lognormal(0.5, 1.0, (1, KINDS))
        contact_s = float(random.uniform(0.0, 3 * WEEK_S))
        from_s = contact_s + float(random.uniform(0.0, 2 * DAY_S)) * random.integers(0, 2)
        found = float(week.first_reaching(waiting, np.array([contact_s]), np.array([from_s]))[0])
        steps_s = np.append(from_s, from_s + np.arange(1, 60 * 24 * 90) * 60.0)
        grid_s = contact_s // HOUR_S * HOUR_S + np.arange(100 * BINS) * HOUR_S
        many = WeekRates(*(np.repeat(part, grid_s.size, axis=0) for part in (
            np.array([rate]), hours[None, :], np.array([weekend], dtype=np.uint8)
        )))  # fmt: skip
        got = np.interp(steps_s, grid_s, many.between(np.full(grid_s.size, grid_s[0]), grid_s))
        got -= np.interp(contact_s, grid_s, many.between(np.full(grid_s.size, grid_s[0]), grid_s))
        enough = waiting[0, KIND_OF[(steps_s % WEEK_S // HOUR_S).astype(np.intp)]]
        first = steps_s[np.argmax(got >= enough)]
        assert found == pytest.approx(first, abs=61.0)
