import math

import numpy as np
import pytest

from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, optimal_crawls, staleness
from bestbefore.replay.planning.potential_waits import mean_age, total_delay

TWO = PotentialUpdates.of([0.0, 0.5], [0.5, 0.5], 1.0)


def test_one_contact_of_two_moments_by_hand() -> None:
    """Contacted at 0; at 1/2 it is updated with the probability 1/2, and then outdated for 1/2: 1/2 (1/2)^2 / 2."""
    assert mean_age(TWO, 1.0, "periodic") == 0.0625


def test_a_period_that_begins_with_a_current_copy_by_hand() -> None:
    """Outdated for all of it with the probability 1/2, and with 1/4 from 1/2 on: 1/2 1/2 + 1/4 1/8."""
    assert mean_age(TWO, 0.0, "interval") == pytest.approx(0.28125)


def test_updates_wait_for_the_next_contact() -> None:
    """That at 1/2 for 1/2, with the probability 1/2; uncontacted, those at 0 and at 1/2 for the rest of the period."""
    assert total_delay(TWO, 1.0, "periodic") == 0.25
    assert total_delay(TWO, 0.0, "interval") == 0.75
    assert total_delay(TWO, 0.0, "periodic") == math.inf
    assert total_delay(TWO, 2.0, "periodic") == 0.0


def test_times_are_in_the_unit_of_the_period() -> None:
    hours = PotentialUpdates.of([0.0, 12.0], [0.5, 0.5], 24.0)
    assert mean_age(hours, 1.0, "periodic") == pytest.approx(24.0 * 0.0625)


def test_without_a_contact_it_is_endless_and_with_all_nothing() -> None:
    assert mean_age(TWO, 0.0, "periodic") == math.inf
    assert mean_age(TWO, 0.5, "periodic") == math.inf
    assert mean_age(TWO, 2.0, "periodic") == 0.0
    assert mean_age(TWO, 5.0, "interval") == 0.0
    assert mean_age(PotentialUpdates.of([0.2], [0.0], 1.0), 0.0, "periodic") == 0.0


def test_between_whole_numbers_it_is_interpolated() -> None:
    assert mean_age(TWO, 1.5, "periodic") == pytest.approx(0.03125)


@pytest.mark.parametrize("boundary", ["interval", "periodic"])
def test_it_is_what_simulated_updates_show(boundary: Boundary) -> None:
    rng = np.random.default_rng(4)
    t = np.array([0.05, 0.3, 0.4, 0.75])
    updates = PotentialUpdates.of(t, [0.9, 0.3, 0.6, 0.2], 1.0)
    crawled = optimal_crawls(updates, 2, boundary)
    grid, dt = (np.arange(2000) + 0.5) / 2000, 1 / 2000
    ages, stale, repeats = 0.0, 0.0, 400
    outdated_since = math.inf
    for _ in range(repeats):
        happens = rng.random(4) < updates.probabilities
        if boundary == "interval":
            outdated_since = math.inf
        else:
            outdated_since -= 1.0
        age = np.zeros(grid.size)
        for moment in range(4):
            age[grid < t[moment]] = np.where(
                (grid >= (t[moment - 1] if moment else 0.0)) & (outdated_since < math.inf), grid - outdated_since, age
            )[grid < t[moment]]
            if happens[moment] and outdated_since == math.inf:
                outdated_since = t[moment]
            if moment in crawled:
                outdated_since = math.inf
        if outdated_since < math.inf:
            age[grid >= t[3]] = grid[grid >= t[3]] - outdated_since
        ages += age.sum() * dt
        stale += (age > 0.0).sum() * dt
    assert stale / repeats == pytest.approx(staleness(updates, crawled, boundary), abs=0.03)
    assert ages / repeats == pytest.approx(mean_age(updates, 2.0, boundary), rel=0.15)
