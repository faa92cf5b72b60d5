"""The policies that a configuration has in use, for the objects of a trace."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bestbefore.addon.config.domain_sections import BOUNDS, PARAMETERS
from bestbefore.addon.rfc9111.message import host_and_path
from bestbefore.addon.rules import Rules
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS, Bounded
from bestbefore.policies.validation.machinery.spec import Value, make_policy, params, spec_text
from bestbefore.replay.sweeps.grid import Point, points_of

POLICY_KEYS = PARAMETERS | BOUNDS | {"policy"}
"""The keys of a table that decide its policy."""


@dataclass(frozen=True, slots=True)
class Present:
    """The policy in use where no rule matches, and those of rules."""

    default: Point
    rules: Mapping[str, Point] = field(default_factory=dict)
    """The policies of the rules that set one, or a part of one, by pattern; the other rules have the default."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """The patterns of the rules that apply, by object."""
    bounds: Mapping[str, Value] = field(default_factory=lambda: LIVE_DEFAULTS)
    """The bounds of [default], which a policy has for keys that its SPEC does not name."""
    own_bounds: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """The bounds of rules that set some, by pattern: whatever their policies, these stay."""
    only_bounded: frozenset[str] = frozenset()
    """The patterns of the rules that set bounds and nothing else of a policy, which they have from [default]."""

    def of(self, part: str) -> Point:
        """Return the policy in use of a part: of the rule with this pattern, or the default."""
        return self.rules.get(part, self.default)

    def within(self, part: str, point: Point) -> Point:
        """Return a policy as a part would have it: bounds of its rule take the place of those that the SPEC names."""
        own = self.own_bounds.get(part)
        return points_of(spec_text(point.policy.name, {**point.written, **own}))[0] if own else point

    @classmethod
    def configured(cls, rules: Rules, toml: str, objects: Iterable[str]) -> "Present":
        """Return what the rules, read from this text, mean for these objects, which are URLs or other names."""
        document = tomllib.loads(toml)
        bounds = {**LIVE_DEFAULTS, **{k: v for k, v in document.get("default", {}).items() if k in BOUNDS}}
        # Of rules with the same pattern the first applies.
        tables = reversed(list(zip(rules.domains, document.get("domain", []), strict=True)))
        of_patterns = {str(rule.match): (rule, table) for rule, table in tables}
        own = {
            pattern: _point(rule.policy, bounds)
            for pattern, (rule, table) in of_patterns.items() if table.keys() & POLICY_KEYS
        }
        own_bounds = {
            pattern: {key: table[key] for key in table if key in BOUNDS}
            for pattern, (_, table) in of_patterns.items() if table.keys() & BOUNDS
        }
        only_bounded = frozenset(
            pattern for pattern in own_bounds if not of_patterns[pattern][1].keys() & (PARAMETERS | {"policy"})
        )
        patterns = dict(_matches(rules, objects))
        return cls(_point(rules.default.policy, bounds), own, patterns, bounds, own_bounds, only_bounded)


def _matches(rules: Rules, objects: Iterable[str]) -> Iterable[tuple[str, str]]:
    for object_ in objects:
        try:
            rule = rules.rule_for(*host_and_path(object_))
        except ValueError:
            continue
        if rule is not rules.default:
            yield object_, str(rule.match)


def _point(policy: Bounded, bounds: Mapping[str, Value]) -> Point:
    """Return the policy as a point whose SPEC names what differs from the policy of that name with these bounds."""
    usual = params(make_policy(policy.name, bounds))
    own = {key: value for key, value in params(policy).items() if usual.get(key) != value}
    return points_of(spec_text(policy.name, own))[0]
