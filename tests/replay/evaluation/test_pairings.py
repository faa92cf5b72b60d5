import numpy as np
import pytest
from small_cases import case

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.evaluation.pairings import LEAST_UPDATES, WEEK_S, Sources, permuted


def test_a_permutation_gives_each_history_to_some_object() -> None:
    own = case()
    other = permuted(own, "pairing", seed=3)
    before = sorted(times.tolist() for times in own.updates.times_by_object().values())
    assert sorted(times.tolist() for times in other.updates.times_by_object().values()) == before
    assert list(other.updates.rows()) == list(permuted(own, "pairing", seed=3).updates.rows())
    assert any(
        list(permuted(own, "", seed).updates.rows()) != list(own.updates.rows()) for seed in range(4)
    )


def test_a_window_is_moved_by_whole_weeks() -> None:
    daily_s = 1000 * DAY_S + np.arange(400) * DAY_S + 5 * HOUR_S
    sources = Sources({"g": [daily_s]})
    found = sources.window("g", 10 * WEEK_S, 15 * DAY_S, np.random.default_rng(1))
    assert found is not None
    assert LEAST_UPDATES <= len(found) <= 15
    assert 10 * WEEK_S <= found[0] <= found[-1] < 10 * WEEK_S + 15 * DAY_S
    assert set((found % DAY_S).tolist()) == {5 * HOUR_S}


def test_a_window_needs_enough_updates() -> None:
    monthly_s = np.arange(100) * 30 * DAY_S
    assert Sources({"g": [monthly_s]}).window("g", 0.0, 15 * DAY_S, np.random.default_rng(1)) is None
    with pytest.raises(ValueError, match="no source has 10 updates in 15 days"):
        Sources({"g": [monthly_s]}).paired(case(), ["g", "h"], 15 * DAY_S, "x", 1)


def test_each_requested_object_gets_a_window_of_a_group_that_has_one() -> None:
    hourly_s = np.arange(3000) * HOUR_S
    sources = Sources({"rare": [np.arange(9.0)], "often": [hourly_s]})
    other = sources.paired(case(), ["rare", "often", "unknown"], 6 * DAY_S, "x", 1)
    times_s = other.updates.times_by_object()
    assert sorted(times_s) == ["a", "b", "c"]
    assert all(len(own_s) >= LEAST_UPDATES for own_s in times_s.values())
