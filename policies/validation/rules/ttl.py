"""TTL: a copy stays fresh for a share of the time since its object last changed."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


def ttl_expiry_s(last_s: float, t: float, alpha: float) -> float:
    """The expiry at t of a copy whose object last changed at `last_s` <= t."""
    return t + alpha * (t - last_s)


@dataclass(frozen=True, slots=True)
class Ttl:
    """expiry = t + alpha * (t - u_n), with the last update u_n; t_0 stands for it where none is known.

    Source: Bright, Gal, Raschid, section 4.1. The time since t_0 for an object without updates is ours.
    """

    name: ClassVar[str] = "ttl"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    alpha: float = 0.1
    """Share of the time since the last update, 0 or more."""

    def __post_init__(self) -> None:
        check_range("alpha", self.alpha)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        last_s = history.last_update_s(t)
        expiry_s = ttl_expiry_s(history.since_s if last_s is None else last_s, t, self.alpha)
        return Verdict(expiry_s, Reason.TTL)
