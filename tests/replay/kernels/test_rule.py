import math
import pickle
from dataclasses import dataclass
from typing import ClassVar

import pytest

from bestbefore.policies.validation.machinery.bounds import Bounded, RuleWithFallback
from bestbefore.policies.validation.machinery.fallback import GROUP_MEMBER, LAST_UPDATE, NO_RULE, LastUpdate
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.tolerance import Mass, Share
from bestbefore.policies.validation.rules.indttl import IndTtl
from bestbefore.policies.validation.table import POLICIES, forms_of
from bestbefore.replay.kernels.rule import in_numbers, looks_at_counts, looks_at_groups, parameters_of, rule_of


@pytest.mark.parametrize("name", POLICIES)
def test_each_policy_is_put_in_numbers(name: str) -> None:
    policy = parse_spec(name)
    rule = rule_of(policy)
    assert rule is not None
    assert rule.keeps_state == (Needs.OUTCOME in policy.needs)
    parameters = in_numbers(rule).own
    assert {key: getattr(parameters, key) for key in parameters._fields[1:]} == {
        key: getattr(policy, key) for key in parameters._fields[1:]
    }


@pytest.mark.parametrize("form", [form for name in POLICIES for form in forms_of(name)])
def test_its_parameters_are_found_again_by_their_name(form: type[Formula]) -> None:
    parameters = parameters_of(form)
    assert pickle.loads(pickle.dumps(parameters)) is parameters


def test_bounds_and_fallback_are_parts_of_the_rule() -> None:
    rule = rule_of(parse_spec("indttl:theta=0.3,max_ttl=1h,fallback=group+ttl,history_window=2d"))
    assert isinstance(rule, RuleWithFallback)
    assert (rule.own, rule.max_ttl_s, rule.history_window_s) == (IndTtl(0.3), 3600.0, 172800.0)
    assert (rule.first, rule.second, rule.mass, rule.quiet) == (GROUP_MEMBER, LAST_UPDATE, Mass(0.3), Share(0.1))
    assert rule.least_exposure_h == 1.0


def test_a_policy_that_never_falls_back_does_not() -> None:
    rule = rule_of(parse_spec("ttl:alpha=0.2,fallback=group"))
    assert rule is not None
    assert not isinstance(rule, RuleWithFallback)
    assert not looks_at_groups(rule)
    assert not looks_at_counts(rule)


def test_a_fallback_named_again_is_one() -> None:
    rule = Bounded(IndTtl(), fallback=(LastUpdate(0.1),) * 3).rule
    assert isinstance(rule, RuleWithFallback)
    assert (rule.first, rule.second, rule.quiet) == (LAST_UPDATE, NO_RULE, Share(0.1))
    assert looks_at_counts(rule)
    assert not looks_at_groups(rule)


def test_a_parameter_that_is_not_a_number_is_refused() -> None:
    policy = IndTtl()
    object.__setattr__(policy, "theta", "much")
    rule = rule_of(policy)
    assert rule is not None
    with pytest.raises(TypeError, match="a parameter of indttl is not a number"):
        in_numbers(rule)


def test_what_is_not_a_function_of_features_has_no_rule() -> None:
    class Told:
        name, needs = "told", Needs.NONE

    assert rule_of(Told()) is None  # type: ignore[arg-type]
    assert math.isinf(rule_of(IndTtl()).history_window_s)  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True)
class OfOthers(Formula):
    """A policy that looks at its group alone."""

    name: ClassVar[str] = "of_others"
    needs: ClassVar[Needs] = Needs.GROUP


def test_for_who_looks_at_a_group_the_updates_of_its_members_are_counted() -> None:
    rule = rule_of(OfOthers())
    assert rule is not None
    assert looks_at_groups(rule)
    assert looks_at_counts(rule)
