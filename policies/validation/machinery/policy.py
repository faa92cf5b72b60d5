"""The interface of a validation policy: a scalar function of features and parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.verdict import Decision, Reason, Verdict

NOT_LIVE: Mapping[Needs, str] = {
    Needs.OUTCOME: "the updates so far, and what became of its last verdict",
    Needs.FUTURE: "the updates to come, which only a replay knows",
}
"""What the proxy cannot tell a policy while it runs, in words."""
_REASONS = tuple(Reason)


@dataclass(frozen=True, slots=True)
class ContactOutcome:
    """The outcome of a contact after a verdict, known at the next decision for the same copy."""

    state: float
    """That of the verdict."""
    changed: bool
    """Whether the contact found the object changed."""


class Policy(Protocol):
    """A rule that gives a copy its expiry: a pure function of what is known when the copy is stored or validated."""

    @property
    def name(self) -> str:
        """The name in SPEC, configuration and reports."""
        ...

    @property
    def needs(self) -> Needs:
        """The features it asks for."""
        ...

    def verdict(
        self, history: History, group: Group | None, t: float, outcome: ContactOutcome | None = None
    ) -> Verdict:
        """The expiry of a copy that is current at t, where t_0 <= t. Updates after t are not looked at.

        `group` is the group of the object; None, where no group is known, is a group without updates.

        `outcome` is what became of the last verdict for this copy; None for a copy that has just been stored, and for a
        policy that keeps no state. Only one that needs outcomes looks at it.
        """
        ...


class Formula:
    """A policy that is one scalar function of features and parameters. All of the table are, each in its own file.

    One is a frozen dataclass whose fields are the parameters, numbers all; those in seconds end in `_s`. SPEC,
    configuration and help follow from the fields and their defaults. `decide` is compiled as it stands by the fast
    engine: it may use numbers, the features, and functions of `policies` that do the same.
    """

    __slots__ = ()

    name: ClassVar[str]
    """Its name in SPEC, configuration and reports."""
    needs: ClassVar[Needs] = Needs.NONE
    """The features it asks for."""
    wants_fallback: ClassVar[bool] = False
    """Whether another rule should decide while hardly any update of the object is known (see `bounds`)."""
    chosen: ClassVar[tuple[str, ...]] = ()
    """The reasons of the rules among which it chooses; none where it decides by itself."""
    reasons: ClassVar[tuple[str, ...]]
    """The words for what decided, by the number that a decision bears. They follow from the above."""
    keeps_state: ClassVar[bool]
    """Whether each decision is made from what was kept at the last one for the same copy. It follows from `needs`."""

    def __init_subclass__(cls) -> None:
        cls.reasons = cls.chosen or (cls.name,)
        cls.keeps_state = Needs.OUTCOME in cls.needs

    def decide(self, known: Features) -> Decision:
        """The expiry of a copy that is current at t, and what is kept for the next contact.

        Compiled, `self` has the fields alone.
        """
        raise NotImplementedError

    def verdict(
        self, history: History, group: Group | None, t: float, outcome: ContactOutcome | None = None
    ) -> Verdict:
        """Return the verdict at t, as `Policy.verdict` says."""
        if outcome is None:
            known = HistoryFeatures(history, group, t)
        else:
            known = HistoryFeatures(history, group, t, outcome.state, outcome.changed)
        return verdict_of(self, self.decide(known))


def verdict_of(policy: Formula, decision: Decision) -> Verdict:
    """A decision of the policy, or of what bounds it, in words."""
    reason = _REASONS[decision.reason] if decision.reason < 0 else policy.reasons[decision.reason]
    return Verdict(decision.expiry_s, reason, decision.state if policy.keeps_state else None)
