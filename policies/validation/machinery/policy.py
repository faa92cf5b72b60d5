"""The interface of a validation policy: a scalar function of features and parameters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.verdict import Decision, Reason, Verdict

NOT_LIVE: Mapping[Needs, str] = {
    Needs.OUTCOME: "the updates so far, and what became of its last verdict",
    Needs.FUTURE: "the updates to come, which only a replay knows",
}
"""The features that the live proxy does not have, in the words of the error message."""
_REASONS = tuple(Reason)


@dataclass(frozen=True, slots=True)
class ContactOutcome:
    """The outcome of the contact that ended a verdict, an input of the next decision for the same copy."""

    state: float
    """The state that the verdict kept."""
    changed: bool
    """Whether the contact found the object changed."""


class Policy(Protocol):
    """A rule that gives a copy its expiry: a pure function of the history up to the time of storing or validation."""

    @property
    def name(self) -> str:
        """The name in SPEC, configuration and reports."""
        ...

    @property
    def needs(self) -> Needs:
        """The features that it reads."""
        ...

    @property
    def siblings(self) -> float:
        """The chance from which on a copy is validated because of a sibling's change (`siblings`); 1: never."""
        ...

    @property
    def stale_rate(self) -> float:
        """The target share of stale hits for which the price is controlled; 0: it is not."""
        ...

    def verdict(
        self,
        history: History,
        group: Group | None,
        t: float,
        outcome: ContactOutcome | None = None,
        demand: CopyDemand | None = None,
        price: float = math.nan,
    ) -> Verdict:
        """The verdict for a copy that is current at t >= t_0. Updates after t are not read.

        `group` is the group of the object; None counts as a group without updates.

        `outcome` is the outcome of the last verdict for this copy; None for a copy that has just been stored, and for a
        policy without state. Only a policy that needs outcomes reads it.

        `demand` is the requests for the copy up to t, that at t included; None counts as one request, at t. Only a
        policy that needs it reads it.

        `price` is the one that the control of `stale_rate` has set; NaN: the policy's own.
        """
        ...


class Formula:
    """A policy defined by one scalar function of features and parameters; every policy of the table is one.

    A subclass is a frozen dataclass whose fields are the parameters. All are numbers; the names of those in seconds end
    in `_s`. SPEC, configuration and help are derived from the fields and their defaults. The fast engine compiles
    `decide` unchanged, so it may use only numbers, features, and functions of `policies` with the same restriction.
    """

    __slots__ = ()

    name: ClassVar[str]
    """The name in SPEC, configuration and reports."""
    needs: ClassVar[Needs] = Needs.NONE
    """The features that it reads."""
    uses_fallback: ClassVar[bool] = False
    """Whether a fallback rule decides for objects with few known updates (see `bounds`)."""
    alternatives: ClassVar[tuple[str, ...]] = ()
    """The names of the rules among which an adaptive policy chooses; empty for any other policy."""
    reasons: ClassVar[tuple[str, ...]]
    """The reason of a decision by its number: `alternatives`, or the name of the policy."""
    siblings: ClassVar[float] = 1.0
    """Only `Bounded` validates because of siblings."""
    stale_rate: ClassVar[float] = 0.0
    """Only `Bounded` has a controlled price."""
    keeps_state: ClassVar[bool]
    """Whether a decision depends on the state kept at the last one for the same copy: whether it needs outcomes."""

    def __init_subclass__(cls) -> None:
        cls.reasons = cls.alternatives or (cls.name,)
        cls.keeps_state = Needs.OUTCOME in cls.needs

    def decide(self, features: Features) -> Decision:
        """The expiry of a copy that is current at t, and the state to keep until the next contact.

        In compiled code `self` is a tuple of the fields, without methods and class variables.
        """
        raise NotImplementedError

    def verdict(
        self,
        history: History,
        group: Group | None,
        t: float,
        outcome: ContactOutcome | None = None,
        demand: CopyDemand | None = None,
        price: float = math.nan,
    ) -> Verdict:
        """Return the verdict at t; see `Policy.verdict`."""
        state, changed = (math.nan, False) if outcome is None else (outcome.state, outcome.changed)
        features = HistoryFeatures(history, group, t, state, changed, demand=demand, price=price)
        return verdict_of(self, self.decide(features))


def verdict_of(policy: Formula, decision: Decision) -> Verdict:
    """Return the verdict with the reason in words for a decision of the policy or its bounds."""
    reason = _REASONS[decision.reason] if decision.reason < 0 else policy.reasons[decision.reason]
    return Verdict(decision.expiry_s, reason, decision.state if policy.keeps_state else None)
