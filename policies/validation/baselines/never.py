"""Never: a copy is served for good."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Never(Formula):
    """expiry = infinity. The bound of saving: no validation at all, and as many stale hits as there can be."""

    name: ClassVar[str] = "never"

    def decide(self, known: Features) -> Decision:  # noqa: ARG002
        return expires(math.inf)
