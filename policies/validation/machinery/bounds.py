"""The rules around a policy that make it fit for live use: bounds, a window on history, a decision at the start."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

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
from bestbefore.policies.validation.machinery.verdict import MAX_TTL, MIN_TTL, Decision, Verdict

ENOUGH_UPDATES = 3
"""The counted updates of an object from which on its policy decides alone."""
LEAST_EXPOSURE_H = 1.0
"""Hours for which an hour bin must have been observed to have a rate of its own."""

LIVE_DEFAULTS: Mapping[str, float | Sequence[str]] = {
    "max_ttl": DAY_S,
    "min_ttl": 0.0,
    "fallback": ("ttl", "group"),
    "history_window": 28 * DAY_S,
    "bootstrap": 60.0,
}
"""What a policy is given in the live proxy where its configuration says nothing else: keys and values of a SPEC."""


class Rule(NamedTuple):
    """A policy with what bounds it, as the loops of the engines take it."""

    own: Any
    """The policy; in compiled code, its parameters."""
    keeps_state: bool = False
    history_window_s: float = math.inf
    least_exposure_h: float = 0.0
    min_ttl_s: float = -math.inf
    max_ttl_s: float = math.inf

    def decide(self, known: Features) -> Decision:
        """Return what the policy decides, within its bounds."""
        return bounded(self.own.decide(known), known.t, self.min_ttl_s, self.max_ttl_s)


class RuleWithFallback(NamedTuple):
    """The same where another rule may decide in place of the policy."""

    own: Any
    keeps_state: bool
    history_window_s: float
    least_exposure_h: float
    min_ttl_s: float
    max_ttl_s: float
    first: int
    """The number of the rule that is tried first while hardly any update is counted."""
    second: int
    alpha: float
    """Of the fallback `ttl`."""
    theta: float
    """Of the fallback `group`."""
    bootstrap_s: float

    def decide(self, known: Features) -> Decision:
        """Return what the policy or its fallback decides, within its bounds."""
        if known.counted_updates() < ENOUGH_UPDATES:
            decided = fallback_decision(known, self.first, self.second, self.alpha, self.theta, self.bootstrap_s)
        else:
            decided = self.own.decide(known)
        return bounded(decided, known.t, self.min_ttl_s, self.max_ttl_s)


def bounded(decided: Decision, t: float, min_ttl_s: float, max_ttl_s: float) -> Decision:
    """The decision at t with its expiry not sooner than `min_ttl_s` and not later than `max_ttl_s` after it."""
    expiry_s = bounded_s(decided.expiry_s, t, min_ttl_s, max_ttl_s)
    if expiry_s < decided.expiry_s:
        return Decision(expiry_s, MAX_TTL, decided.state)
    if expiry_s > decided.expiry_s:
        return Decision(expiry_s, MIN_TTL, decided.state)
    return decided


def bounded_s(expiry_s: float, t: float, min_ttl_s: float, max_ttl_s: float) -> float:
    """The expiry at t, not sooner than `min_ttl_s` and not later than `max_ttl_s` after it."""
    if expiry_s - t > max_ttl_s:
        return t + max_ttl_s
    if expiry_s - t < min_ttl_s:
        return t + min_ttl_s
    return expiry_s


@dataclass(frozen=True, slots=True)
class Bounded:
    """A policy with the rules that live use needs. Without parameters it decides as the policy alone.

    Counts and rates are those of the updates in (t - history_window, t]; u_n is not bound to the window. While fewer
    than three updates are counted, the first `fallback` that applies decides, and if none does the copy expires
    `bootstrap_s` after t; an empty `fallback` leaves the decision to the policy. Last, `min_ttl_s` and `max_ttl_s`
    bound expiry - t, so that "never" ends after `max_ttl_s`.

    `fallback` also switches the guard: unless it is None, an hour bin observed for less than an hour has the mean rate.
    A replay has it None where its SPEC does not name the key, so that the bare formulas hold; live it is never None.
    """

    policy: Formula
    min_ttl_s: float = 0.0
    max_ttl_s: float = math.inf
    fallback: tuple[Fallback, ...] | None = None
    bootstrap_s: float = 60.0
    history_window_s: float = math.inf

    rule: Rule | RuleWithFallback = field(init=False, repr=False, compare=False)
    """The same as engines take it."""

    wants_fallback: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_range("min_ttl", self.min_ttl_s)
        check_range("max_ttl", self.max_ttl_s, infinite=True)
        check_range("bootstrap", self.bootstrap_s)
        check_range("history_window", self.history_window_s, least=1.0, infinite=True)
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
        self, history: History, group: Group | None, t: float, outcome: ContactOutcome | None = None
    ) -> Verdict:
        rule = self.rule
        state, changed = (math.nan, False) if outcome is None else (outcome.state, outcome.changed)
        known = HistoryFeatures(history, group, t, state, changed, rule.history_window_s, rule.least_exposure_h)
        return verdict_of(self.policy, rule.decide(known))

    def _rule(self) -> Rule | RuleWithFallback:
        rule = Rule(
            self.policy,
            self.policy.keeps_state,
            self.history_window_s,
            0.0 if self.fallback is None else LEAST_EXPOSURE_H,
            self.min_ttl_s,
            self.max_ttl_s,
        )
        if not self.fallback or not self.policy.wants_fallback:
            return rule
        # A rule that did not apply does not apply when it is named again.
        rules = list({rule.number: rule for rule in reversed(self.fallback)}.values())[::-1]
        first, second, *_ = [*(rule.number for rule in rules), NO_RULE]
        alpha = next((rule.alpha for rule in rules if isinstance(rule, LastUpdate)), 0.0)
        theta = next((rule.theta for rule in rules if isinstance(rule, GroupMember)), 0.0)
        return RuleWithFallback(*rule, first, second, alpha, theta, self.bootstrap_s)
