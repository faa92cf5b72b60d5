import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.fixed import Fixed
from bestbefore.policies.validation.machinery.verdict import Verdict

HISTORY = History.of([100.0, 400.0], 0.0)


def test_a_copy_lives_for_the_interval_whatever_is_known() -> None:
    assert Fixed(90.0).verdict(HISTORY, None, 500.0) == Verdict(590.0, "fixed")
    assert Fixed(90.0).verdict(History.of([], 0.0), None, 500.0).expiry_s == 590.0


def test_without_a_word_it_is_an_hour() -> None:
    assert Fixed().verdict(HISTORY, None, 500.0).expiry_s == 4100.0


@pytest.mark.parametrize("interval_s", [-1.0, float("inf"), float("nan")])
def test_the_interval_is_finite_and_not_negative(interval_s: float) -> None:
    with pytest.raises(ValueError, match="interval must be a finite number of 0 or more, not"):
        Fixed(interval_s)
