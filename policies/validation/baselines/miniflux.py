"""Miniflux: poll as often as entries came during the last week."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict

WEEK_S = 7 * DAY_S


def miniflux_interval_s(updates: int, factor: float, min_s: float, max_s: float) -> float:
    """The interval after a week with this many updates."""
    polls = updates * factor
    interval_s = max(WEEK_S / polls, min_s) if polls > 0.0 else max_s
    return min(interval_s, max_s)


@dataclass(frozen=True, slots=True)
class Miniflux:
    """expiry = t + 7 days / (n * factor), between `min` and `max`, with n the updates in the last 7 days; n = 0: `max`.

    Source: Miniflux, internal/model/feed.go, ScheduleNextCheck with the scheduler `entry_frequency`, and its defaults.
    Later versions put for n not the entries of the week but a week over their mean distance, which is more for a feed
    that is new; what the feed or its server asks for (ttl, Retry-After) is not the policy's affair.
    """

    name: ClassVar[str] = "miniflux"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    factor: float = 1.0
    """Polls per entry, 0 or more."""
    min_s: float = 300.0
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("factor", self.factor)
        check_bounds(self.min_s, self.max_s)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        updates = history.count(t - WEEK_S, t)
        return Verdict(t + miniflux_interval_s(updates, self.factor, self.min_s, self.max_s), Reason.MINIFLUX)
