import pytest

from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.fallback import LastUpdate
from bestbefore.policies.validation.machinery.policy import Needs
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.rules.ttl import Ttl
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.kernels.rule import Kind, rule_of


@pytest.mark.parametrize("name", POLICIES)
def test_each_policy_is_known(name: str) -> None:
    policy = parse_spec(name)
    rule = rule_of(policy)
    assert rule is not None
    assert rule.keeps_interval == (policy.needs is Needs.OUTCOMES)


def test_bounds_and_fallback_are_parts_of_the_rule() -> None:
    rule = rule_of(parse_spec("indttl:theta=0.3,max_ttl=1h,fallback=group+ttl,history_window=2d"))
    assert rule is not None
    assert (rule.kind, rule.theta, rule.max_ttl_s, rule.history_window_s) == (Kind.INDTTL, 0.3, 3600.0, 172800.0)
    assert (rule.falls_back, rule.first, rule.second) == (True, Kind.FALLBACK_GROUP, Kind.FALLBACK_TTL)
    assert rule.least_exposure_h == 1.0


def test_a_policy_that_never_falls_back_does_not() -> None:
    rule = rule_of(parse_spec("ttl:alpha=0.2,fallback=group"))
    assert rule is not None
    assert not rule.falls_back
    assert not rule.needs_groups


def test_a_fallback_named_twice_is_in_no_rule() -> None:
    assert rule_of(Bounded(Ttl(0.1), fallback=(LastUpdate(0.1),) * 3)) is None
