import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.validation.siblings.changes import SiteChange
from bestbefore.policies.validation.siblings.trials import MATCH_S, Chances, Trials, chances, trials

COUNTS = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda n: (min(n), max(n)))
TRIALS = st.tuples(COUNTS, COUNTS).map(lambda n: Trials(*n[0], *n[1]))


def test_a_change_counts_as_together_if_the_object_changed_within_minutes_of_it() -> None:
    changes = [SiteChange(10_000.0, "x/a", "x"), SiteChange(20_000.0, "y/a", "y")]
    assert trials(changes, "x", 10_000.0 + MATCH_S) == Trials(same_together=1, same=1, other=1)
    assert trials(changes, "x", 20_000.0 - MATCH_S) == Trials(other_together=1, other=1)
    assert trials(changes, "y", 9_000.0) == Trials(same=1, other=1)
    assert trials(changes, "y", None) == Trials(same=1, other=1)


def test_a_change_before_the_objects_own_latest_is_not_counted() -> None:
    assert trials([SiteChange(1000.0, "x/a", "x")], "x", 1001.0 + MATCH_S) == Trials()


def test_without_trials_the_chance_is_that_of_a_new_site() -> None:
    assert chances(Trials(), Trials(), Trials()) == pytest.approx(Chances(0.1, 0.1))


def test_each_ratio_has_its_parents_as_the_prior() -> None:
    seven, two = Trials(7, 8), Trials(2, 4)  # (7 + 0.2) / (8 + 2) = 0.72, (2 + 4 * 0.72) / (4 + 4) = 0.61
    assert chances(seven, two, Trials(0, 2)).same == pytest.approx((0 + 4 * 0.61) / (2 + 4))


@given(TRIALS, TRIALS, TRIALS)
@settings(max_examples=50, derandomize=True, deadline=None)
def test_a_chance_is_a_probability_that_falls_with_each_failure(site: Trials, directory: Trials, own: Trials) -> None:
    before, after = chances(site, directory, own), chances(site, directory, own.plus(Trials(same=1, other=1)))
    assert 0.0 < after.same < before.same < 1.0
    assert 0.0 < after.other < before.other < 1.0
