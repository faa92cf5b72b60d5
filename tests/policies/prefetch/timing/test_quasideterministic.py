"""Crawls at potential update times, against all choices and an example on paper."""

import itertools

import numpy as np
import pytest
from compared.greedy_crawls import greedy_crawls
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.prefetch.timing.quasideterministic import (
    PotentialUpdates,
    least_staleness,
    optimal_crawls,
    staleness,
)

BOUNDARIES = ("interval", "periodic")


@st.composite
def pages(draw):
    times = sorted(draw(st.sets(st.integers(0, 23), min_size=1, max_size=7)))
    chances = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
    return PotentialUpdates.of(times, draw(st.lists(chances, min_size=len(times), max_size=len(times))), 24.0)


def test_staleness_follows_the_potential_updates_since_the_last_crawl():
    page = PotentialUpdates.of([6.0, 12.0, 18.0], [0.5, 0.5, 1.0], 24.0)
    # Current until 6, stale with 1/2 until 12, crawled there, stale for sure after 18.
    assert staleness(page, np.array([1]), "interval") == (6 * 0.5 + 6 * 1.0) / 24
    # Repeated, it is stale from 18 until the crawl at 12 of the next period.
    assert staleness(page, np.array([1]), "periodic") == (6 * 1.0 + 12 * 1.0) / 24


def test_never_crawled_a_repeated_plan_is_always_stale():
    page = PotentialUpdates.of([6.0], [0.5], 24.0)
    assert staleness(page, np.array([], dtype=np.intp), "periodic") == 1.0
    assert staleness(page, np.array([], dtype=np.intp), "interval") == 0.5 * 18 / 24
    never_updated = PotentialUpdates.of([6.0], [0.0], 24.0)
    assert staleness(never_updated, np.array([], dtype=np.intp), "periodic") == 0.0


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_page_without_potential_updates_is_never_stale(boundary):
    assert least_staleness(PotentialUpdates.of([], [], 24.0), boundary).tolist() == [0.0]


def test_an_update_at_the_start_may_be_crawled_at_the_start():
    page = PotentialUpdates.of([0.0, 12.0], [1.0, 1.0], 24.0)
    assert least_staleness(page, "interval").tolist() == [1.0, 0.5, 0.0]
    assert optimal_crawls(page, 1, "interval").tolist() == [0]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@given(page=pages())
@settings(max_examples=60, derandomize=True)
def test_no_other_choice_is_less_stale(boundary, page):
    numbers = range(page.times.size)
    least = least_staleness(page, boundary)
    for crawls in range(page.times.size + 1):
        plans = (np.array(plan, dtype=np.intp) for plan in itertools.combinations(numbers, crawls))
        best = min(staleness(page, plan, boundary) for plan in plans)
        assert least[crawls] == pytest.approx(best, abs=1e-12)
        chosen = optimal_crawls(page, crawls, boundary)
        assert staleness(page, chosen, boundary) == pytest.approx(best, abs=1e-12)
        assert staleness(page, greedy_crawls(page, crawls, boundary), boundary) >= best - 1e-12


@pytest.mark.parametrize("boundary", BOUNDARIES)
@given(page=pages())
@settings(max_examples=60, derandomize=True)
def test_the_least_staleness_falls_ever_more_slowly_to_nothing(boundary, page):
    least = least_staleness(page, boundary)
    assert np.all(np.diff(least) <= 1e-12)
    assert np.all(np.diff(least, 2) >= -1e-12)
    assert least[-1] == pytest.approx(0.0, abs=1e-12)


def test_greedy_keeps_a_first_choice_that_two_crawls_would_not_make():
    # One crawl is best in the middle; two are best at a third and two thirds.
    page = PotentialUpdates.of(np.arange(1, 12) * 2.0, np.full(11, 0.2), 24.0)
    greedy, best = (staleness(page, rule(page, 2, "interval"), "interval") for rule in (greedy_crawls, optimal_crawls))
    assert optimal_crawls(page, 2, "interval").tolist() == [3, 7]
    assert greedy > 1.05 * best


@pytest.mark.parametrize(
    ("times", "probabilities", "message"),
    [
        ([1.0, 1.0], [0.5, 0.5], "ascend"),
        ([25.0], [0.5], "ascend"),
        ([1.0, 2.0], [0.5, 1.5], "potential update 1 is 1.5"),
        ([1.0], [0.5, 0.5], "1 potential updates have 2"),
    ],
)
def test_bad_potential_updates_are_refused_by_name(times, probabilities, message):
    with pytest.raises(ValueError, match=message):
        PotentialUpdates.of(times, probabilities, 24.0)


def test_more_crawls_than_potential_updates_are_refused():
    with pytest.raises(ValueError, match="3 crawls at 1"):
        optimal_crawls(PotentialUpdates.of([1.0], [1.0], 24.0), 3, "interval")
