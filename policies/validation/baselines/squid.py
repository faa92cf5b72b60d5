"""Squid's refresh_pattern: a percentage of the time since the last modification, within a maximum."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, History
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


def squid_ttl_s(age_s: float, min_s: float, percent: float, max_s: float) -> float:
    """The lifetime of a copy whose object last changed `age_s` ago; 0 also where it is not known to have changed."""
    return min(min_s if age_s == 0.0 else percent / 100 * age_s, max_s)


@dataclass(frozen=True, slots=True)
class Squid:
    """expiry = t + percent of (t - u_n), at most `max`; where no update is known, or the last one is at t, t + `min`.

    `min` does not bound what the percentage gives: Squid looks at it only where there is no Last-Modified to go by.

    Source: Squid, src/refresh.cc, refreshStaleness, and its defaults (0, 20 %, 3 days). The first of its rules, the
    explicit lifetime that an origin gives, is not the policy's affair.
    """

    name: ClassVar[str] = "squid"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.PAST

    min_s: float = 0.0
    percent: float = 20.0
    """Percent of the time since the last update, 0 or more."""
    max_s: float = 3 * DAY_S

    def __post_init__(self) -> None:
        check_bounds(self.min_s, self.max_s)
        check_range("percent", self.percent)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        last_s = history.last_update_s(t)
        age_s = 0.0 if last_s is None else t - last_s
        return Verdict(t + squid_ttl_s(age_s, self.min_s, self.percent, self.max_s), Reason.SQUID)
