"""Oracle: the bound that no policy can pass."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Oracle(Formula):
    """expiry = the first update after t; never, if none is to come.

    It validates exactly when the object has changed: no stale hit, no unnecessary validation. It reads the updates that
    lie in the history beyond t, so that it can decide only where the whole history is known.
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[Needs] = Needs.FUTURE

    def decide(self, known: Features) -> Decision:
        return expires(known.next_update_s())
