"""The conversion of policies to tuples of numbers, the form of compiled code."""

import math
from collections import namedtuple
from dataclasses import fields
from typing import Any

from bestbefore.policies.validation.machinery.bounds import Bounded, Rule, RuleWithFallback
from bestbefore.policies.validation.machinery.fallback import GROUP_MEMBER
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Formula, Policy
from bestbefore.policies.validation.table import POLICIES, forms_of

type AnyRule = Rule | RuleWithFallback


def rule_of(policy: Policy) -> AnyRule | None:
    """The rule of a policy and its bounds; None for a policy that is not a function of features."""
    if isinstance(policy, Bounded):
        return policy.rule
    return Rule(policy, policy.keeps_state, Needs.DEMAND in policy.needs) if isinstance(policy, Formula) else None


def looks_at_counts(rule: AnyRule) -> bool:
    """Whether the rule may read counts or gaps of updates, or group features, beyond t_0 and the last update."""
    return isinstance(rule, RuleWithFallback) or Needs.COUNTS in rule.own.needs or looks_at_groups(rule)


def looks_at_groups(rule: AnyRule) -> bool:
    """Whether the rule may read group features."""
    return Needs.GROUP in rule.own.needs or (
        isinstance(rule, RuleWithFallback) and GROUP_MEMBER in (rule.first, rule.second)
    )


def shares_groups(policy: Policy) -> bool:
    """Whether a decision may depend on other objects of the group: its features, siblings, or a stale rate.

    Objects of different groups never depend on each other, nor do caches of different objects otherwise.
    """
    rule = rule_of(policy)
    return rule is None or looks_at_groups(rule) or policy.stale_rate > 0.0 or policy.siblings < 1.0


def remembers(rule: AnyRule) -> bool:
    """Whether the rule reads the memory of updates, and the rate of the group if it looks at groups."""
    return Needs.MEMORY in rule.own.needs


def in_numbers(rule: AnyRule) -> AnyRule:
    """Return the rule with the policy replaced by its parameters. Raises TypeError if one of them is not a number."""
    policy = rule.own
    values = [getattr(policy, field.name) for field in fields(policy)]
    if not all(isinstance(value, int | float) for value in values):
        raise TypeError(f"a parameter of {policy.name} is not a number")
    return rule._replace(own=parameters_of(type(policy))(math.nan, *map(float, values)))


def parameters_of(policy: type[Formula]) -> Any:
    """The named tuple class of a policy's parameters, by which compiled code identifies the policy.

    Its first field is unused, as a policy may have no parameters. Compiled code is cached under this class, so it must
    be found by its name in this module (`__getattr__`).
    """
    if policy in _PARAMETERS_OF:
        return _PARAMETERS_OF[policy]
    made = namedtuple(policy.__name__, ["_", *(field.name for field in fields(policy))], rename=True)  # type: ignore[misc,arg-type]
    made.__module__ = __name__
    made.__qualname__ = policy.__name__
    _PARAMETERS_OF[policy] = made
    return made


_PARAMETERS_OF: dict[type[Formula], Any] = {}


def __getattr__(name: str) -> Any:
    for form in (form for policy in POLICIES for form in forms_of(policy)):
        if form.__name__ == name:
            return parameters_of(form)
    raise AttributeError(name)
