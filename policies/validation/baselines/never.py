"""Never: a copy is served for good."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Never:
    """expiry = infinity. The bound of saving: no validation at all, and as many stale hits as there can be.
    """

    name: ClassVar[str] = "never"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        return Verdict(math.inf, Reason.NEVER)
