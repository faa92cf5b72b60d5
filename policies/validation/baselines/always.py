"""Always: every request is validated."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Always:
    """expiry = t. The bound of freshness: no hit at all, and as many validations as cached requests.
    """

    name: ClassVar[str] = "always"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        return Verdict(t, Reason.ALWAYS)
