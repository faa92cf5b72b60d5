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

    def of(self, part: str) -> Point:
        """Return the policy in use of a part: of the rule with this pattern, or the default."""
        return self.rules.get(part, self.default)

    @classmethod
    def configured(cls, rules: Rules, toml: str, objects: Iterable[str]) -> "Present":
        """Return what the rules, read from this text, mean for these objects, which are URLs or other names."""
        document = tomllib.loads(toml)
        bounds = {**LIVE_DEFAULTS, **{k: v for k, v in document.get("default", {}).items() if k in BOUNDS}}
        own = {
            str(rule.match): _point(rule.policy, bounds)
            for rule, table in reversed(list(zip(rules.domains, document.get("domain", []), strict=True)))
            if table.keys() & POLICY_KEYS
        }
        return cls(_point(rules.default.policy, bounds), own, dict(_matches(rules, objects)), bounds)


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
