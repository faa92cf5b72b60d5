"""The rules around a policy that make it fit for live use: bounds, a window on history, a decision at the start."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, History
from bestbefore.policies.validation.machinery.fallback import Fallback
from bestbefore.policies.validation.machinery.policy import Needs, Outcome, Policy
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict

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

    policy: Policy
    min_ttl_s: float = 0.0
    max_ttl_s: float = math.inf
    fallback: tuple[Fallback, ...] | None = None
    bootstrap_s: float = 60.0
    history_window_s: float = math.inf

    wants_fallback: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_range("min_ttl", self.min_ttl_s)
        check_range("max_ttl", self.max_ttl_s, infinite=True)
        check_range("bootstrap", self.bootstrap_s)
        check_range("history_window", self.history_window_s, least=1.0, infinite=True)
        if self.min_ttl_s > self.max_ttl_s:
            raise ValueError(f"min_ttl ({self.min_ttl_s:g} s) must not exceed max_ttl ({self.max_ttl_s:g} s)")

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def needs(self) -> Needs:
        return self.policy.needs

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:
        seen = history.through(t - self.history_window_s, 0.0 if self.fallback is None else LEAST_EXPOSURE_H)
        if self.fallback and self.policy.wants_fallback and seen.count(seen.counted_after_s, t) < ENOUGH_UPDATES:
            decided = self._fallback_verdict(self.fallback, seen, group, t)
        else:
            decided = self.policy.verdict(seen, group, t, outcome)
        expiry_s = bounded_s(decided.expiry_s, t, self.min_ttl_s, self.max_ttl_s)
        if expiry_s == decided.expiry_s:
            return decided
        reason = Reason.MAX_TTL if expiry_s < decided.expiry_s else Reason.MIN_TTL
        return Verdict(expiry_s, reason, decided.state)

    def _fallback_verdict(self, rules: tuple[Fallback, ...], seen: History, group: Group | None, t: float) -> Verdict:
        for rule in rules:
            verdict = rule.verdict(seen, group, t)
            if verdict is not None:
                return verdict
        return Verdict(t + self.bootstrap_s, Reason.BOOTSTRAP)
