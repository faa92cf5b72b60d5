"""Never: a copy is never validated."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Never(Formula):
    """expiry = infinity. The lower bound of contacts: no validations, and the largest possible number of stale hits."""

    name: ClassVar[str] = "never"

    def decide(self, features: Features) -> Decision:  # noqa: ARG002
        return expires(math.inf)
