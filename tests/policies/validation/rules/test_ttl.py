import math

import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.policies.validation.rules.ttl import MassTtl, Ttl


def test_a_copy_lives_for_a_share_of_the_time_since_the_last_update() -> None:
    history = History.of([100.0, 600.0, 2000.0], 0.0)
    assert Ttl(0.5).verdict(history, None, 1000.0) == Verdict(1200.0, "ttl")


def test_without_an_update_the_start_of_observation_stands_for_it() -> None:
    assert Ttl(0.1).verdict(History.of([], 500.0), None, 1500.0).expiry_s == 1600.0


def test_a_last_modified_from_before_observation_is_the_last_update() -> None:
    assert Ttl(0.1).verdict(History.of([], 500.0, last_modified_s=300.0), None, 1300.0).expiry_s == 1400.0


def test_a_window_on_history_does_not_hide_the_last_update() -> None:
    for history in (History.of([100.0], 0.0), History.of([], 100.0)):
        assert Ttl(0.1).decide(HistoryFeatures(history, None, 1100.0, window_s=200.0)).expiry_s == 1200.0


def test_an_update_at_this_very_moment_is_known() -> None:
    assert Ttl(0.5).verdict(History.of([1000.0], 0.0), None, 1000.0).expiry_s == 1000.0


@pytest.mark.parametrize("alpha", [-0.1, float("inf"), float("nan")])
def test_alpha_is_finite_and_not_negative(alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be a finite number of 0 or more, not"):
        Ttl(alpha)


def test_a_mass_of_updates_at_the_rate_of_an_age_is_a_share_of_the_age() -> None:
    """The integral of 1 / (t' - u_n) from t to t' is ln((t' - u_n) / (t - u_n))."""
    history = History.of([100.0, 600.0, 2000.0], 0.0)
    verdict = MassTtl(math.log(1.5)).verdict(history, None, 1000.0)
    assert (verdict.expiry_s, verdict.reason) == (pytest.approx(1200.0), "ttl")
    assert math.log((verdict.expiry_s - 600.0) / (1000.0 - 600.0)) == pytest.approx(math.log(1.5))
    assert MassTtl(0.0).verdict(history, None, 1000.0).expiry_s == 1000.0


def test_the_largest_theta_is_still_a_number() -> None:
    assert MassTtl(700.0).verdict(History.of([], 0.0), None, 1e9).expiry_s > 1e300
    with pytest.raises(ValueError, match="theta must be a number from 0 to 700, not 701"):
        MassTtl(701.0)
