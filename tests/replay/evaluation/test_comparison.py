import pytest
from small_cases import FIXED, SHARED, SQUID, compared, outcome

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.comparison import bound, oracle
from bestbefore.replay.simulate.scenario import Cache


def test_the_mean_is_over_the_cases_of_a_family() -> None:
    both = compared(outcome(1, 0.2, 0.1), outcome(2, 0.2, 0.4))
    spread = both.spread("own", SHARED, 0.01, both.of(SQUID))
    assert spread is not None
    assert (spread.mean, spread.least, spread.most) == (pytest.approx(1.0), 0.5, 2.0)
    unreached = both.spread("own", SHARED, 0.01, both.of(FIXED))
    assert unreached is not None
    assert (unreached.known, unreached.of) == (0, 2)
    of_oracle = both.spread("own", SHARED, 0.01, oracle)
    of_bound = both.spread("own", SHARED, 0.01, both.of(SQUID), bound)
    assert of_oracle is not None
    assert of_bound is not None
    assert (of_oracle.mean, of_bound.least) == (pytest.approx(0.25), pytest.approx(2.5))


def test_too_few_validations_are_not_compared() -> None:
    few = compared(outcome(1, 0.2, 0.1, cached=99))
    assert few.spread("own", SHARED, 0.01, few.of(SQUID)) is None
    assert few.compared() == 0


def test_losses_come_in_their_order_and_the_policy_in_detail_is_the_first_other_one() -> None:
    found = compared(outcome(1, 0.2, 0.3), outcome(2, 0.2, 0.5), outcome(3, 0.2, 0.1))
    assert found.subject is SQUID
    assert [round(loss.ratio, 2) for loss in found.losses(SQUID, 1.02)] == [2.5, 1.5, 1.25]
    assert found.compared() == 6


def test_kinds_are_compared_with_the_best_of_the_five_for_them() -> None:
    found = compared(outcome(1, 0.2, 0.1))
    spread = found.by_kind("own", SHARED, 0.01, SQUID, "mixed")
    assert spread is not None
    assert spread.mean == pytest.approx(0.5)
    assert found.by_kind("own", SHARED, 0.01, SQUID, "bursty") is None


def test_the_first_day_compares_stale_hits_at_the_validations_of_ttl() -> None:
    found = compared(outcome(1, 0.1, 0.1, Known.FIRST_DAY), outcome(1, 0.1, 0.2, Known.FIRST_DAY))
    spread = found.first_day("own", Cache.SHARED, 0.01, SQUID)
    assert spread is not None
    assert (spread.least, spread.most) == (pytest.approx(1.0), pytest.approx(20.5 / 10.5))
    assert found.places == []
