import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.evaluation.compared import FIVE, Compared, all_compared, in_detail


def test_all_policies_have_as_many_points_as_asked_for() -> None:
    every = all_compared(3)
    assert {len(one.points) for one in every} == {3}
    assert len({one.name for one in every}) == len(every)
    assert {one.points[0].policy.name for one in every if one.is_of_paper} == set(FIVE)


def test_a_policy_is_named_without_the_values_that_vary() -> None:
    assert Compared.of("indttl:theta=0.1..1/2,alpha=0.1").name == "indttl:theta,alpha=0.1"
    assert Compared.of("always").name == "always"


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown policy"):
        Compared.of("nosuch:theta=1..2/2")


def test_only_a_price_that_varies_can_be_controlled() -> None:
    assert Compared.of("ttl:price=1..4/2,max_ttl=6h").controlled(0.05) == parse_spec("ttl:max_ttl=6h,stale_rate=0.05")
    assert Compared.of("ttl:price=1..4/2").controlled(0.0) is None
    assert Compared.of("ttl:alpha=1..4/2").controlled(0.05) is None


def test_the_first_policy_beyond_those_of_the_paper_is_shown_in_detail() -> None:
    given = [Compared.of(spec) for spec in ("ttl:alpha=1..4/2", "fixed:interval=1h..2h/2", "ttl:price=1..4/2", "squid")]
    assert in_detail(given) is given[2]
    assert in_detail(given[:2]) is None
