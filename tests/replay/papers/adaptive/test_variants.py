import numpy as np
import pytest

from bestbefore.replay.papers.adaptive.paired import DAYS, ORIGIN_S, Paired
from bestbefore.replay.papers.adaptive.variants import (
    changed,
    first_of_their_hour,
    in_known_hours,
    known_beforehand,
    redated,
    shuffled,
    without_bursts,
)
from bestbefore.replay.papers.work import Work
from bestbefore.replay.traces.columns import Requests, Updates

HOUR = 3600.0
DAY = 86400.0


def after(*seconds: float) -> np.ndarray:
    return ORIGIN_S + np.array(seconds)


def test_the_first_of_updates_in_a_row_is_left() -> None:
    assert (without_bursts(60.0)(after(0.0, 60.0, 120.0, 181.0)) - ORIGIN_S).tolist() == [0.0, 181.0]


def test_shuffled_gaps_are_the_same_gaps() -> None:
    times = after(5.0, 6.0, 16.0, 116.0)
    found = shuffled(np.random.default_rng(3))(times)
    assert sorted(np.diff(found, prepend=ORIGIN_S)) == pytest.approx([1.0, 5.0, 10.0, 100.0])


def test_redated_updates_keep_their_time_of_day() -> None:
    times = after(*(3 * HOUR + 7.0 * i for i in range(40)))
    found = redated(np.random.default_rng(3))(times)
    assert sorted((found - ORIGIN_S) % DAY) == pytest.approx(sorted(times - ORIGIN_S))
    assert len({(t - ORIGIN_S) // DAY for t in found}) > 5
    assert found.max() < ORIGIN_S + DAYS * DAY


def test_an_hour_is_new_once() -> None:
    times = np.array([0.0, 10.0, HOUR, DAY + 5.0, DAY + 2 * HOUR])
    assert first_of_their_hour(times).tolist() == [True, False, True, False, True]


def test_only_updates_of_the_test_must_be_in_known_hours() -> None:
    times = np.array([0.0, HOUR, DAY, DAY + 2 * HOUR, 2 * DAY + HOUR, 2 * DAY + 2 * HOUR])
    assert in_known_hours(DAY)(times).tolist() == [0.0, HOUR, DAY, 2 * DAY + HOUR]


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
    assert changed(nothing, without_bursts(1.0)) is nothing


def test_the_same_days_come_before(work: Work) -> None:
    paired = Paired.read(work)
    twice, origin_s = known_beforehand(paired)
    assert origin_s == ORIGIN_S - 15 * DAY
    n = len(paired.updates)
    assert np.allclose(twice.updates.times_s[:n] + 15 * DAY, twice.updates.times_s[n:])
