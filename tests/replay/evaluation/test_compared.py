import pytest

from bestbefore.replay.evaluation.compared import FIVE, Compared, all_compared


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
