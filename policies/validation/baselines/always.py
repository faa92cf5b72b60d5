"""Always: every request is validated."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Always(Formula):
    """expiry = t. The bound of freshness: no hit at all, and as many validations as cached requests."""

    name: ClassVar[str] = "always"

    def decide(self, known: Features) -> Decision:
        return expires(known.t)
