import numpy as np
import pytest

from bestbefore.replay.papers.adaptive.paired import DAYS, ORIGIN_S, Paired
from bestbefore.replay.papers.adaptive.variants import (
    REPEATED,
    changed,
    first_of_their_hour,
    independent,
    known_beforehand,
    shuffled,
)
from bestbefore.replay.papers.work import Work
from bestbefore.replay.traces.columns.columns import Requests, Updates

HOUR = 3600.0
DAY = 86400.0


def after(*seconds: float) -> np.ndarray:
    return ORIGIN_S + np.array(seconds)


def test_shuffled_gaps_are_the_same_gaps() -> None:
    times = after(5.0, 6.0, 16.0, 116.0)
    found = shuffled(np.random.default_rng(3))(times)
    assert sorted(np.diff(found, prepend=ORIGIN_S)) == pytest.approx([1.0, 5.0, 10.0, 100.0])


def test_independent_updates_have_the_rate_of_each_hour() -> None:
    times = after(*(3 * HOUR + i for i in range(2000)), *(5 * HOUR + i for i in range(500)))
    found = independent(np.random.default_rng(3))(times)
    hours = np.bincount(((found - ORIGIN_S) % DAY // HOUR).astype(int), minlength=24)
    assert hours[3] == pytest.approx(2000, abs=5 * 2000**0.5)
    assert hours[5] == pytest.approx(500, abs=5 * 500**0.5)
    assert hours.sum() == hours[3] + hours[5]
    days = np.bincount(((found - ORIGIN_S) // DAY).astype(int))
    assert len(days) == DAYS
    assert days.min() > 100


def test_an_hour_is_new_once() -> None:
    times = np.array([0.0, 10.0, HOUR, DAY + 5.0, DAY + 2 * HOUR])
    assert first_of_their_hour(times).tolist() == [True, False, True, False, True]


def test_each_object_is_changed_by_itself(work: Work) -> None:
    paired = Paired.read(work)
    same = changed(paired, lambda times_s: times_s)
    assert np.array_equal(same.updates.times_s, paired.updates.times_s)
    firsts = changed(paired, lambda times_s: times_s[:1])
    assert len(firsts.updates) == len(paired.updates.times_by_object())
    assert firsts.requests is paired.requests


def test_without_updates_nothing_is_changed() -> None:
    nothing = Paired(
        Updates.of(np.empty(0), np.empty(0, np.int32), ()),
        Requests.of(np.empty(0), np.empty(0, np.int32), np.empty(0, np.int32), (), ()), {},
    )
    assert changed(nothing, lambda times_s: times_s) is nothing


def test_the_days_of_another_trace_come_before(work: Work) -> None:
    paired = Paired.read(work)
    firsts = changed(paired, lambda times_s: times_s[:1])
    known, origin_s = known_beforehand(firsts, paired)
    assert origin_s == ORIGIN_S - REPEATED * 15 * DAY
    assert len(known.updates) == REPEATED * len(paired.updates) + len(firsts.updates)
    n = len(paired.updates)
    assert np.allclose(known.updates.times_s[:n] + REPEATED * 15 * DAY, paired.updates.times_s)
    assert np.array_equal(known.updates.times_s[REPEATED * n :], firsts.updates.times_s)
