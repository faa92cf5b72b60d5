import math

import numpy as np
import pytest
from compared.index_scheduler import IndexScheduler, reached_after_h, refresh_index
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.allocation import continuous, objectives

HOUR = 3600.0
few = settings(max_examples=100, derandomize=True, deadline=None)


def one_index(rate: float, weight: float, since_h: float) -> float:
    return float(refresh_index(np.array([rate]), np.array([weight]), np.array([since_h]))[0])


def by_looking_at_all(
    rates: np.ndarray, weights: np.ndarray, refreshed_s: np.ndarray, moments_s: np.ndarray
) -> list[int | None]:
    """The index policy word for word."""
    refreshed_s = refreshed_s.copy()
    taken: list[int | None] = []
    for now_s in moments_s:
        indexes = refresh_index(rates, weights, (now_s - refreshed_s) / HOUR)
        best = int(np.argmax(indexes))
        taken.append(best if indexes[best] > 0 else None)
        if indexes[best] > 0:
            refreshed_s[best] = now_s
    return taken


def test_the_index_of_one_update_expected_since_the_refresh() -> None:
    assert one_index(0.5, 3.0, 2.0) == pytest.approx(6 * (1 - 2 / math.e))


def test_an_object_never_refreshed_has_all_there_is_to_gain_and_one_just_refreshed_nothing() -> None:
    assert one_index(0.5, 3.0, 1e9) == 6.0
    assert one_index(0.5, 3.0, 0.0) == 0.0


@pytest.mark.parametrize(("rate", "weight"), [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_without_rate_or_weight_there_is_no_index(rate: float, weight: float) -> None:
    assert one_index(rate, weight, 1e9) == 0.0
    assert reached_after_h(np.array([rate]), np.array([weight]), 1e-9)[0] == math.inf


@few
@given(st.floats(1e-9, 1e6), st.floats(1e-9, 1e6), st.floats(1e-9, 20.0))
def test_the_time_at_which_an_index_is_reached_turns_the_index_round(rate: float, weight: float, x: float) -> None:
    index = one_index(rate, weight, x / rate)
    after_h = reached_after_h(np.array([rate]), np.array([weight]), index)[0]
    # Near w / lambda the index hardly grows: there it is the index that agrees, not the time.
    assert after_h * rate == pytest.approx(x, rel=1e-7) or one_index(rate, weight, after_h) == pytest.approx(index)


def test_no_index_reaches_weight_over_rate() -> None:
    assert reached_after_h(np.array([0.5]), np.array([3.0]), 6.0)[0] == math.inf


@pytest.mark.parametrize("seed", range(4))
def test_it_takes_what_looking_at_all_objects_would_take(seed: int) -> None:
    random = np.random.default_rng(seed)
    rates, weights = random.lognormal(-3, 1.5, 300), random.pareto(1.0, 300) + 0.1
    refreshed_s = -random.random(300) * 500 * HOUR
    moments_s = np.cumsum(random.exponential(0.4, 3000)) * HOUR
    scheduler = IndexScheduler(rates, weights, refreshed_s)
    assert [scheduler.take(t) for t in moments_s] == by_looking_at_all(rates, weights, refreshed_s, moments_s)


def test_it_still_does_when_the_budget_doubles_and_ends_for_a_while() -> None:
    random = np.random.default_rng(7)
    rates, weights = random.lognormal(-3, 1.0, 200), random.random(200)
    refreshed_s = -random.random(200) * 100 * HOUR
    moments_s = np.concatenate([np.arange(1, 500) * 0.5, 250 + np.arange(500) * 0.2, [2000, 2000.1]]) * HOUR
    scheduler = IndexScheduler(rates, weights, refreshed_s)
    assert [scheduler.take(t) for t in moments_s] == by_looking_at_all(rates, weights, refreshed_s, moments_s)


def test_it_follows_new_estimates_at_once() -> None:
    random = np.random.default_rng(3)
    rates, weights, refreshed_s = random.lognormal(-3, 1.0, 100), np.ones(100), -random.random(100) * 50 * HOUR
    scheduler = IndexScheduler(rates, weights, refreshed_s)
    taken, expected = [], []
    for k in range(1500):
        now_s = (k + 1) * 0.3 * HOUR
        number, rate, weight = int(random.integers(100)), float(random.lognormal(-3, 1.0)), float(random.random())
        scheduler.learn(number, rate, weight)
        rates[number], weights[number] = rate, weight
        taken.append(scheduler.take(now_s))
        expected += by_looking_at_all(rates, weights, refreshed_s, np.array([now_s]))
        refreshed_s[expected[-1]] = now_s
    assert taken == expected


def test_many_new_estimates_do_not_pile_up() -> None:
    scheduler = IndexScheduler(np.full(50, 0.1), np.ones(50), -np.arange(50) * HOUR)
    scheduler.take(0.0)
    for k in range(5000):
        scheduler.learn(k % 50, 0.1 + 1e-6 * (k % 7), 1.0)
    assert len(scheduler._later) <= 150
    assert len({scheduler.take((k + 1) * HOUR) for k in range(49)}) == 49


@pytest.mark.slow
def test_in_simulation_it_is_within_a_thousandth_of_the_optimum() -> None:
    random = np.random.default_rng(2)
    rates, weights, budget_per_hour = random.lognormal(-3, 1.5, 400), 1 / np.arange(1, 401), 8.0
    scheduler = IndexScheduler(rates, weights, -random.random(400) * 200 * HOUR)
    moments_h = np.arange(1, 16_000) / budget_per_hour
    taken = np.array([scheduler.take(t * HOUR) for t in moments_h])
    settled_h, end_h = 500.0, moments_h[-1]
    fresh_h = np.zeros(400)
    for number, rate in enumerate(rates):
        times_h = np.append(moments_h[taken == number], end_h)
        since_h = np.maximum(times_h[:-1], settled_h) - times_h[:-1]
        until_h = np.maximum(times_h[1:], settled_h) - times_h[:-1]
        fresh_h[number] = np.sum(np.exp(-rate * since_h) - np.exp(-rate * until_h)) / rate
    reached = float(weights @ fresh_h) / (end_h - settled_h)
    frequencies = continuous.freshness(rates, weights, budget_per_hour)
    optimum = float(weights @ objectives.freshness(rates, frequencies))
    assert optimum * 0.999 < reached < optimum * 1.0005


@pytest.mark.parametrize("refreshed_s", [-math.inf, 0.0])
def test_many_equal_objects_are_each_refreshed_once_before_any_is_refreshed_twice(refreshed_s: float) -> None:
    scheduler = IndexScheduler(np.full(2000, 0.1), np.ones(2000), np.full(2000, refreshed_s))
    assert len({scheduler.take(HOUR + k) for k in range(2000)}) == 2000


def test_where_nothing_can_be_gained_nothing_is_taken() -> None:
    assert IndexScheduler(np.empty(0), np.empty(0), np.empty(0)).take(0.0) is None
    scheduler = IndexScheduler(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.zeros(2))
    assert scheduler.take(HOUR) is None
    scheduler.learn(0, 1.0, 1.0)
    assert scheduler.take(HOUR) == 0
    assert scheduler.take(HOUR) is None  # refreshed this moment
    assert scheduler.take(HOUR + 1) == 0


def test_a_refresh_in_the_future_is_one_of_this_moment() -> None:
    assert IndexScheduler(np.ones(1), np.ones(1), np.array([9 * HOUR])).take(HOUR) is None


def test_times_do_not_go_back() -> None:
    scheduler = IndexScheduler(np.ones(1), np.ones(1), np.zeros(1))
    scheduler.take(HOUR)
    with pytest.raises(ValueError, match=r"0.0 is before 3600.0"):
        scheduler.take(0.0)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, 1e101])
def test_rates_and_weights_that_are_none_are_refused_by_the_number_of_their_object(value: float) -> None:
    wrong, right = np.array([1.0, value]), np.ones(2)
    with pytest.raises(ValueError, match="object 1 has the rate"):
        IndexScheduler(wrong, right, right)
    with pytest.raises(ValueError, match="object 1 has the weight"):
        IndexScheduler(right, wrong, right)
    with pytest.raises(ValueError, match="object 1 has the rate"):
        IndexScheduler(right, right, right).learn(1, value, 1.0)


def test_last_refreshes_that_are_no_times_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="object 1 was refreshed at nan"):
        IndexScheduler(np.ones(2), np.ones(2), np.array([0.0, math.nan]))
    with pytest.raises(ValueError, match="2 rates, 1 weights, 2 times"):
        IndexScheduler(np.ones(2), np.ones(1), np.ones(2))
