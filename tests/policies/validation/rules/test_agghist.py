import math

import numpy as np
import pytest

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.models.intensity import HOURLY_S, exposure_h, first_passage_s
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.rules.agghist import AggHist

HOUR = 3600.0
DAY = 86400.0
T = 4 * DAY + 6 * HOUR


def daily(clock_h: float, days: int = 4) -> list[float]:
    return [d * DAY + clock_h * HOUR for d in range(days)]


def group(*histories: History) -> Group:
    return Group.of_updates(np.concatenate([h.times_s for h in histories]), [h.since_s for h in histories])


def test_the_objects_share_of_the_groups_rates_decides() -> None:
    # Of eight updates two are the object's: a quarter of one update an hour at 9 and of one at 15.
    one, other = History.of([5.0, DAY], 0.0), History.of([], 0.0)
    nine, fifteen = History.of(daily(9.5, 2), 0.0), History.of(daily(15.5, 4), 0.0)
    together = group(one, other, nine, fifteen)
    verdict = AggHist(0.25).verdict(one, together, T)
    # 2/8 of (2 updates in 4 hours) is 0.125 in the hour at 9; 0.125 of the 0.25 an hour at 15 is half an hour.
    assert verdict.reason == "agghist"
    assert verdict.expiry_s == pytest.approx(4 * DAY + 15.5 * HOUR, abs=0.01)


def test_observed_for_equal_times_the_general_formula_is_the_plain_one() -> None:
    histories = [History.of(daily(h, n), 0.0) for h, n in ((1.5, 4), (9.5, 3), (9.75, 2), (22.0, 1))]
    together = group(*histories)
    counts = together.counts(-math.inf, T)
    for history in histories:
        share = len(history.times_s) / sum(counts)
        hours = exposure_h(HOURLY_S, 0.0, T)
        plain = [share * n / h for n, h in zip(counts, hours, strict=True)]
        expected = first_passage_s(HOURLY_S, plain, T, 0.3)
        assert AggHist(0.3).verdict(history, together, T).expiry_s == pytest.approx(expected, abs=1e-3)


def test_an_object_observed_for_half_the_time_has_twice_the_rate() -> None:
    old = History.of(daily(9.5), 0.0)
    new = History.of([3 * DAY, 3 * DAY + HOUR], T / 2)
    assert len(new.times_s) == 2
    together = group(old, new)
    counts = together.counts(-math.inf, T)
    hours = exposure_h(HOURLY_S, 0.0, T)
    rates = [2 / 6 * 2 * n / h for n, h in zip(counts, hours, strict=True)]
    expected = first_passage_s(HOURLY_S, rates, T, 0.3)
    assert AggHist(0.3).verdict(new, together, T).expiry_s == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("history", "known"),
    [
        (History.of([], 0.0), group(History.of(daily(9.5), 0.0))),
        (History.of(daily(9.5), 0.0), None),
        (History.of(daily(9.5), 0.0), Group.of_hours({}, {})),
        (History.of(daily(9.5), 0.0), Group.of_hours({}, {0: 1})),
        (History.of([T], T), group(History.of([T], T))),
    ],
    ids=["no update", "no group known", "a group of nobody", "a group without updates", "observed since now"],
)
def test_where_object_or_group_has_no_rate_a_copy_never_expires(history: History, known: Group | None) -> None:
    assert AggHist().verdict(history, known, T).expiry_s == math.inf


def test_the_updates_of_object_and_group_beyond_a_window_are_forgotten() -> None:
    history, other = History.of(daily(9.5), 0.0), History.of(daily(15.5), 0.0)
    recent, other_recent = History.of(daily(9.5), 2 * DAY), History.of(daily(15.5), 2 * DAY)
    known = HistoryFeatures(history, group(history, other), T, window_s=T - 2 * DAY)
    expiry_s = AggHist(1.5).verdict(recent, group(recent, other_recent), T).expiry_s
    assert AggHist(1.5).decide(known).expiry_s == expiry_s


def test_an_hour_in_which_the_group_was_hardly_observed_has_its_mean_rate_where_that_is_asked_for() -> None:
    history = History.of([9.25 * HOUR, 9.5 * HOUR, 9.75 * HOUR], 9 * HOUR)
    t = 13.25 * HOUR
    assert AggHist(0.5).verdict(history, group(history), t).expiry_s > t + 19 * HOUR
    guarded = AggHist(0.5).decide(HistoryFeatures(history, group(history), t, least_exposure_h=1.0))
    assert guarded.expiry_s == pytest.approx(t + 0.5 / (3 / 4.25) * HOUR, abs=0.01)


def test_the_groups_rates_may_be_those_of_unequal_segments() -> None:
    history = History.of(daily(12.0), 0.0)
    halves = Group.of_updates(history.times_s, [0.0], [0.0, 12 * HOUR, DAY])
    # Observed for 48 hours from noon on: 4/48 an hour.
    assert AggHist(0.25).verdict(history, halves, T).expiry_s == pytest.approx(4 * DAY + 15 * HOUR, abs=0.01)


def test_with_a_penalty_hours_that_do_not_differ_enough_are_one_segment() -> None:
    history = History.of([*daily(9.5), *daily(10.25)], 0.0)
    together = group(history)
    t = 4 * DAY
    # One segment from 9 to 11 with 8 updates in 8 hours: half an update after half an hour of it.
    joined = AggHist(0.5, segment_penalty=1.0).verdict(history, together, t)
    assert joined.expiry_s == pytest.approx(t + 9.5 * HOUR, abs=0.01)
    # One for the day, with 8 updates in 96 hours.
    flat = AggHist(0.5, segment_penalty=100.0).verdict(history, together, t)
    assert flat.expiry_s == pytest.approx(t + 6 * HOUR, abs=0.01)


def test_with_a_penalty_too_a_group_without_updates_says_never() -> None:
    assert AggHist(0.1, 1.0).verdict(History.of([1.0], 0.0), group(History.of([], 0.0)), T).expiry_s == math.inf


def test_a_negative_penalty_is_refused() -> None:
    with pytest.raises(ValueError, match="segment_penalty must be a finite number of 0 or more, not -1"):
        AggHist(0.1, -1.0)
