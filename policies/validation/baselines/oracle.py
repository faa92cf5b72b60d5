"""Oracle: the expiry at the next update, which bounds all policies."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Oracle(Formula):
    """expiry = the first update after t; infinite if there is none.

    A copy is validated exactly when the object has changed: no stale hits and no unnecessary validations. The policy
    reads updates after t, so it can be used only in a replay with complete histories.
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[Needs] = Needs.FUTURE

    def decide(self, features: Features) -> Decision:
        return expires(features.next_update_s())
