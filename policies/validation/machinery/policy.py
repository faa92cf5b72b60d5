"""What a validation policy is."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.verdict import Verdict


class Needs(Enum):
    """What a policy must be told beside the moment at which it decides."""

    PAST = "the updates so far"
    OUTCOMES = "the updates so far, and what became of its last verdict"
    FUTURE = "the updates to come, which only a replay knows"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a verdict, told at the next contact for the same copy."""

    state: float
    """That of the verdict."""
    changed: bool
    """Whether the contact found the object changed."""


class Policy(Protocol):
    """A rule that gives a copy its expiry: a pure function of what is known when the copy is stored or validated."""

    @property
    def name(self) -> str:
        """Its name in SPEC, configuration and reports."""
        ...

    @property
    def wants_fallback(self) -> bool:
        """Whether another rule should decide while hardly any update of the object is known (see `bounds`)."""
        ...

    @property
    def needs(self) -> Needs:
        """What it must be told."""
        ...

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:
        """The expiry of a copy that is current at t, where t_0 <= t. Updates after t are not looked at.

        `group` is the group of the object; None, where no group is known, is a group without updates.

        `outcome` is what became of the last verdict for this copy; None for a copy that has just been stored, and for a
        policy that keeps no state. Only one that needs outcomes looks at it.
        """
        ...
