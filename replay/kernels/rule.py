"""A policy in numbers, for compiled code, which knows no classes."""

import math
from collections import namedtuple
from dataclasses import fields
from typing import Any

from bestbefore.policies.validation.machinery.bounds import Bounded, Rule, RuleWithFallback
from bestbefore.policies.validation.machinery.fallback import GROUP_MEMBER
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Formula, Policy
from bestbefore.policies.validation.table import POLICIES

type AnyRule = Rule | RuleWithFallback


def rule_of(policy: Policy) -> AnyRule | None:
    """The policy with what bounds it; None for one that is not a function of features."""
    if isinstance(policy, Bounded):
        return policy.rule
    return Rule(policy, policy.keeps_state) if isinstance(policy, Formula) else None


def looks_at_counts(rule: AnyRule) -> bool:
    """Whether it ever asks for more of a history than its beginning and its end, or for what a group learns from it."""
    return isinstance(rule, RuleWithFallback) or Needs.COUNTS in rule.own.needs or looks_at_groups(rule)


def looks_at_groups(rule: AnyRule) -> bool:
    """Whether it ever asks for anything of the group."""
    return Needs.GROUP in rule.own.needs or (
        isinstance(rule, RuleWithFallback) and GROUP_MEMBER in (rule.first, rule.second)
    )


def in_numbers(rule: AnyRule) -> AnyRule:
    """The rule with the parameters of the policy in its place. Raises TypeError if one of them is not a number."""
    policy = rule.own
    values = [getattr(policy, field.name) for field in fields(policy)]
    if not all(isinstance(value, int | float) for value in values):
        raise TypeError(f"a parameter of {policy.name} is not a number")
    return rule._replace(own=parameters_of(type(policy))(math.nan, *map(float, values)))


def parameters_of(policy: type[Formula]) -> Any:
    """The class of a policy's parameters: a tuple with their names, of which compiled code knows the policy.

    Its first field is empty, as there may be no other. What was compiled is kept under this class, so that it must be
    found again by its name in this module.
    """
    if policy in _PARAMETERS_OF:
        return _PARAMETERS_OF[policy]
    made = namedtuple(policy.name, ["_", *(field.name for field in fields(policy))], rename=True)  # type: ignore[misc,arg-type]
    made.__module__ = __name__
    made.__qualname__ = policy.name
    _PARAMETERS_OF[policy] = made
    return made


_PARAMETERS_OF: dict[type[Formula], Any] = {}


def __getattr__(name: str) -> Any:
    if name in POLICIES:
        return parameters_of(POLICIES[name])
    raise AttributeError(name)
