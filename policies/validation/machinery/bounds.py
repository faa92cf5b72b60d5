"""Bounds of a policy for live use: limits of the lifetime, a history window, a fallback for new objects."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.fallback import (
    NO_RULE,
    Fallback,
    GroupMember,
    LastUpdate,
    fallback_decision,
)
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Formula, verdict_of
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.tolerance import Mass, Price, Share
from bestbefore.policies.validation.machinery.verdict import MAX_TTL, MIN_TTL, Decision, Verdict

ENOUGH_UPDATES = 3
"""The least number of counted updates with which the policy decides without fallback."""
LEAST_EXPOSURE_H = 1.0
"""The least hours of observation with which an hour bin has a rate of its own."""

LEAST_STALE_RATE = 1e-6
"""The least target of a controlled price."""
LONGEST_CONTROLLED_S = DAY_S
"""The longest lifetime under a controlled price: a copy that is not validated shows nothing of its stale hits."""

LIVE_DEFAULTS: Mapping[str, float | Sequence[str]] = {
    "max_ttl": DAY_S,
    "min_ttl": 0.0,
    "fallback": ("ttl", "group"),
    "history_window": 28 * DAY_S,
    "bootstrap": 60.0,
    "siblings": 0.05,
}
"""The bounds of a policy in the live proxy unless configured otherwise: keys and values of a SPEC."""


class Rule(NamedTuple):
    """A policy and its bounds as numbers, the form in which the loops of the engines use it."""

    own: Any
    """The policy; in compiled code, its parameters."""
    keeps_state: bool = False
    counts_requests: bool = False
    history_window_s: float = math.inf
    least_exposure_h: float = 0.0
    min_ttl_s: float = -math.inf
    max_ttl_s: float = math.inf

    def decide(self, features: Features) -> Decision:
        """Return the decision of the policy, within its bounds."""
        return bounded(self.own.decide(features), features.t, self.min_ttl_s, self.max_ttl_s)


class RuleWithFallback(NamedTuple):
    """A `Rule` with a fallback that decides in place of the policy for objects with few updates."""

    own: Any
    keeps_state: bool
    counts_requests: bool
    history_window_s: float
    least_exposure_h: float
    min_ttl_s: float
    max_ttl_s: float
    first: int
    """The number of the fallback rule that is tried first."""
    second: int
    """The number of the fallback rule that is tried second."""
    quiet: Share | Price
    """The tolerance of the fallback `ttl`."""
    mass: Mass | Price
    """The tolerance of the fallback `group`."""
    bootstrap_s: float

    def decide(self, features: Features) -> Decision:
        """Return the decision of the policy or its fallback, within the bounds."""
        if features.counted_updates() < ENOUGH_UPDATES:
            decided = fallback_decision(features, self.first, self.second, self.quiet, self.mass, self.bootstrap_s)
        else:
            decided = self.own.decide(features)
        return bounded(decided, features.t, self.min_ttl_s, self.max_ttl_s)


def bounded(decided: Decision, t: float, min_ttl_s: float, max_ttl_s: float) -> Decision:
    """The decision at t, its expiry bounded to [t + `min_ttl_s`, t + `max_ttl_s`]; a bound reached is the reason."""
    expiry_s = bounded_s(decided.expiry_s, t, min_ttl_s, max_ttl_s)
    if expiry_s < decided.expiry_s:
        return Decision(expiry_s, MAX_TTL, decided.state)
    if expiry_s > decided.expiry_s:
        return Decision(expiry_s, MIN_TTL, decided.state)
    return decided


def bounded_s(expiry_s: float, t: float, min_ttl_s: float, max_ttl_s: float) -> float:
    """The expiry, bounded to [t + `min_ttl_s`, t + `max_ttl_s`]."""
    if expiry_s - t > max_ttl_s:
        return t + max_ttl_s
    if expiry_s - t < min_ttl_s:
        return t + min_ttl_s
    return expiry_s


@dataclass(frozen=True, slots=True)
class Bounded:
    """A policy with the bounds that live use needs. With the default parameters it decides as the bare policy.

    Counts and rates are those of the updates in (t - history_window, t]; u_n is independent of the window. While fewer
    than three updates are counted, the first rule of `fallback` that applies decides; if none applies, the copy expires
    at t + `bootstrap_s`. With an empty `fallback` the policy always decides. Then `min_ttl_s` and `max_ttl_s` bound
    expiry - t, so that an infinite expiry becomes t + `max_ttl_s`.

    Unless `fallback` is None, an hour bin observed for less than an hour gets the mean rate. It is None in a replay
    whose SPEC does not name the key, so that the formulas of the paper hold; in the live proxy it is never None.

    Before its expiry a copy is validated if another object of its site is found changed and, with at least the
    probability `siblings`, the object has changed too (`siblings.Siblings`). Engines ask for this at each request.

    With `stale_rate` the price of a policy with a price is controlled, so that this share of the requests that find a
    copy are stale hits (`control`), and no lifetime is longer than a day. Engines pass the price in force then.
    """

    policy: Formula
    min_ttl_s: float = 0.0
    """The shortest learned lifetime, seconds."""
    max_ttl_s: float = math.inf
    """The longest learned lifetime, seconds."""
    fallback: tuple[Fallback, ...] | None = None
    """What decides while fewer than three updates are known: the first rule that applies."""
    bootstrap_s: float = 60.0
    """The lifetime while nothing is known of the object, seconds."""
    history_window_s: float = math.inf
    """How long updates are counted, seconds."""
    siblings: float = 1.0
    """The chance of an update from which on a copy is validated since another page of its site changed; 1: never."""
    stale_rate: float = 0.0
    """The target share of stale hits; 0: the price is not controlled."""

    rule: Rule | RuleWithFallback = field(init=False, repr=False, compare=False)
    """The policy and its bounds in the form that engines use."""

    uses_fallback: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_range("min_ttl", self.min_ttl_s)
        check_range("max_ttl", self.max_ttl_s, infinite=True)
        check_range("bootstrap", self.bootstrap_s)
        check_range("history_window", self.history_window_s, least=1.0, infinite=True)
        check_range("siblings", self.siblings, most=1.0)
        if self.stale_rate:
            check_range("stale_rate", self.stale_rate, least=LEAST_STALE_RATE, most=1.0)
        if self.min_ttl_s > self.max_ttl_s:
            raise ValueError(f"min_ttl ({self.min_ttl_s:g} s) must not exceed max_ttl ({self.max_ttl_s:g} s)")
        object.__setattr__(self, "rule", self._rule())

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def needs(self) -> Needs:
        return self.policy.needs

    def verdict(
        self,
        history: History,
        group: Group | None,
        t: float,
        outcome: ContactOutcome | None = None,
        demand: CopyDemand | None = None,
        price: float = math.nan,
    ) -> Verdict:
        rule = self.rule
        state, changed = (math.nan, False) if outcome is None else (outcome.state, outcome.changed)
        features = HistoryFeatures(
            history, group, t, state, changed, rule.history_window_s, rule.least_exposure_h, demand, price
        )
        return verdict_of(self.policy, rule.decide(features))

    def _rule(self) -> Rule | RuleWithFallback:
        rule = Rule(
            self.policy,
            self.policy.keeps_state,
            Needs.DEMAND in self.policy.needs,
            self.history_window_s,
            0.0 if self.fallback is None else LEAST_EXPOSURE_H,
            self.min_ttl_s,
            min(self.max_ttl_s, LONGEST_CONTROLLED_S) if self.stale_rate else self.max_ttl_s,
        )
        if not self.fallback or not self.policy.uses_fallback:
            return rule
        # A rule that is named twice is tried once.
        rules = list({rule.number: rule for rule in reversed(self.fallback)}.values())[::-1]
        first, second, *_ = [*(rule.number for rule in rules), NO_RULE]
        price: float | None = getattr(self.policy, "price", None)
        if price is not None:
            return RuleWithFallback(*rule, first, second, Price(price), Price(price), self.bootstrap_s)
        alpha = next((rule.alpha for rule in rules if isinstance(rule, LastUpdate)), 0.0)
        theta = next((rule.theta for rule in rules if isinstance(rule, GroupMember)), 0.0)
        return RuleWithFallback(*rule, first, second, Share(alpha), Mass(theta), self.bootstrap_s)
