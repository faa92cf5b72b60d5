"""Fixed: the same lifetime for every object, as most pollers do."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import HOUR_S, History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Fixed:
    """expiry = t + interval.

    Source: the polling interval of FreshRSS (one hour), and of Miniflux unless told otherwise (`SCHEDULER_ROUND_ROBIN_
    MIN_INTERVAL`, one hour). tt-rss has 30 minutes.
    """

    name: ClassVar[str] = "fixed"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    interval_s: float = HOUR_S
    """0 or more, finite."""

    def __post_init__(self) -> None:
        check_range("interval", self.interval_s)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        return Verdict(t + self.interval_s, Reason.FIXED)
