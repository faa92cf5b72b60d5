"""Oracle: the bound that no policy can pass."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Oracle:
    """expiry = the first update after t; never, if none is to come.

    It validates exactly when the object has changed: no stale hit, no unnecessary validation. It reads the updates that
    lie in the history beyond t, so that it can decide only where the whole history is known.
    """

    name: ClassVar[str] = "oracle"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.FUTURE

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        later = int(history.times_s.searchsorted(t, side="right"))
        return Verdict(float(history.times_s[later]) if later < len(history.times_s) else math.inf, Reason.ORACLE)
