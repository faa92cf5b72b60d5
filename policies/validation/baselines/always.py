"""Always: every request is validated."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Always(Formula):
    """expiry = t. The upper bound of freshness: no hits, and as many validations as cached requests."""

    name: ClassVar[str] = "always"

    def decide(self, features: Features) -> Decision:
        return expires(features.t)
