import math

import numpy as np
import pytest

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.prefetch.online.spacing import MOST_ENTRIES, DueDates, _phase

HOUR = 3600.0


def refreshes(due: DueDates, per_hour: float, hours: float, start_h: float = 0.0) -> list[tuple[float, int | None]]:
    """Which object is refreshed at each of the moments (hours), evenly spaced."""
    moments = [start_h + (k + 1) / per_hour for k in range(round(hours * per_hour))]
    return [(t, due.take(t * HOUR)) for t in moments]


def freshness(taken: list[tuple[float, int | None]], rates: np.ndarray, since_h: float) -> np.ndarray:
    """The expected share of the time from `since_h` on that each object is fresh, under Poisson updates."""
    moments_h, numbers = np.array([t for t, _ in taken]), np.array([n for _, n in taken])
    fresh_h = np.zeros(len(rates))
    for number, rate in enumerate(rates):
        times_h = np.append(moments_h[numbers == number], moments_h[-1])
        from_h = np.maximum(times_h[:-1], since_h) - times_h[:-1]
        until_h = np.maximum(times_h[1:], since_h) - times_h[:-1]
        fresh_h[number] = np.sum(np.exp(-rate * from_h) - np.exp(-rate * until_h)) / rate
    return fresh_h / (moments_h[-1] - since_h)


def test_one_object_is_refreshed_whenever_there_is_a_contact() -> None:
    due = DueDates([1.0], 0.0)
    assert [due.take(k * HOUR) for k in range(5)] == [0] * 5


def test_each_object_has_its_share_of_the_contacts() -> None:
    taken = refreshes(DueDates([3.0, 1.0, 0.5, 0.0], 0.0), 4.5, 200)
    counts = np.bincount([n for _, n in taken if n is not None], minlength=4)
    assert counts.tolist() == pytest.approx([600, 200, 100, 0], abs=2)


def test_intervals_are_regular() -> None:
    frequencies = [2.0, 1.0, 1.0, *[0.1] * 100]
    taken = refreshes(DueDates(frequencies, 0.0), sum(frequencies), 400)
    for number, frequency in enumerate(frequencies):
        gaps = np.diff([t for t, n in taken if n == number])
        assert np.std(gaps) * frequency < 0.1, number


@pytest.mark.parametrize("weights", [np.ones(400), 1 / np.arange(1, 401)], ids=["equal", "Zipf"])
def test_in_simulation_it_is_within_a_thousandth_of_the_optimum(weights: np.ndarray) -> None:
    rates = np.random.default_rng(1).lognormal(-3.0, 1.5, 400)
    frequencies = continuous.freshness(rates, weights, 8.0)
    taken = refreshes(DueDates(frequencies.tolist(), 0.0), 8.0, 1500)
    reached = float(weights @ freshness(taken, rates, 300.0))
    optimum = float(weights @ objectives.freshness(rates, frequencies))
    assert optimum * 0.999 < reached < optimum * 1.0005


def test_what_an_object_has_missed_is_not_made_up_for() -> None:
    """After 20 hours without a contact each is refreshed once; then the one that is due again first, in an hour."""
    due = DueDates([1.0, 0.1], 0.0)
    assert [due.take(20 * HOUR) for _ in range(3)] == [0, 1, 0]


def test_objects_of_equal_frequency_are_not_due_at_once() -> None:
    due = DueDates([0.1] * 50, 0.0)
    moments = sorted(due._due_s)
    assert max(np.diff(moments)) < 3 * 10 * HOUR / 50


def test_what_was_missed_is_not_made_up_for() -> None:
    due = DueDates([1.0, 0.001], 0.0)
    due.take(1000.4 * HOUR)
    assert min(due._due_s) > 1000.4 * HOUR - 1e-6 or due.take(1000.5 * HOUR) == 1
    taken = refreshes(due, 1.0, 20, start_h=1001.0)
    assert sum(n == 0 for _, n in taken) >= 19


def test_an_object_never_due_is_never_taken_until_its_frequency_says_otherwise() -> None:
    due = DueDates([0.0, 0.0], 0.0)
    assert due.take(HOUR) is None
    due.set_frequency(1, 1.0, HOUR)
    assert due.take(2 * HOUR) == 1
    due.set_frequency(1, 0.0, 2 * HOUR)
    assert due.take(9 * HOUR) is None


def test_a_change_of_frequency_keeps_what_is_left_of_the_interval() -> None:
    due = DueDates([1.0], 0.0)
    left_s = due._due_s[0]
    due.set_frequency(0, 0.5, 0.0)
    assert due._due_s[0] == pytest.approx(2 * left_s)
    due.set_frequency(0, 1.0, 3 * left_s)  # overdue: at once
    assert due._due_s[0] == pytest.approx(3 * left_s)


def test_after_a_change_the_shares_are_the_new_ones() -> None:
    due = DueDates([1.0, 1.0], 0.0)
    refreshes(due, 2.0, 10)
    due.set_frequency(0, 3.0, 10 * HOUR)
    taken = refreshes(due, 4.0, 100, start_h=10.0)
    assert sum(n == 0 for _, n in taken) == pytest.approx(300, abs=4)


def test_many_changes_do_not_pile_up() -> None:
    due = DueDates([1.0] * 50, 0.0)
    for k in range(5000):
        due.set_frequency(k % 50, 1.0 + 1e-6 * (k % 7), 0.0)
    assert len(due._closed) + len(due._open) <= 150
    assert len({due.take(k * HOUR / 50) for k in range(50)}) == 50


@pytest.mark.parametrize("frequency", [-1.0, math.nan, math.inf])
def test_a_frequency_that_is_none_is_refused(frequency: float) -> None:
    with pytest.raises(ValueError, match="refreshes per hour"):
        DueDates([1.0, frequency], 0.0)
    with pytest.raises(ValueError, match="refreshes per hour"):
        DueDates([1.0], 0.0).set_frequency(0, frequency, 0.0)


def test_the_first_due_dates_lie_evenly_however_many_there_are() -> None:
    for n in range(2, 200):
        first_h = np.sort(DueDates([1.0] * n, 0.0)._due_s) / HOUR
        gaps_h = np.diff(first_h, append=first_h[0] + 1.0)
        assert gaps_h.max() < 2.0 / n, n


def test_a_due_date_missed_by_exactly_an_interval_is_skipped() -> None:
    due = DueDates([1.0], 0.0)
    now_s = due._due_s[0] + HOUR
    assert due.take(now_s) == 0
    assert due._due_s[0] == now_s + HOUR


def test_first_dues_are_spread_over_the_interval() -> None:
    phases = np.array([_phase(number) for number in range(100)])
    assert phases.min() > 0.0
    assert phases.max() < 1.0
    assert np.histogram(phases, 10, (0.0, 1.0))[0].tolist() == pytest.approx([10] * 10, abs=1)


def test_outdated_entries_are_dropped() -> None:
    due = DueDates([1.0, 1.0], 0.0)
    for k in range(200):
        due.set_frequency(k % 2, 1.0 + k % 3, k)
        assert len(due._closed) + len(due._open) <= MOST_ENTRIES * 2 + 1
