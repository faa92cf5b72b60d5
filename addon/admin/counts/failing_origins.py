"""The origins that are down: those whose last contact failed, since their failures began."""

from dataclasses import dataclass, replace
from typing import Self

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.engine.outcome import Outcome

HOSTS_KEPT = 500
"""The bound on hosts, as clients choose them: beyond it those that failed longest ago are left out."""
FAILED = "origin-"
"""What the reason of a request begins with that was refused because its origin failed (`Failure`)."""


@dataclass(frozen=True, slots=True)
class OriginFailure:
    """The failures of an origin in a row."""

    first_s: float
    """Policy time of the first request that it failed."""
    last_s: float
    number: int
    """Requests that got an error or a stale copy, since it failed."""
    reason: str
    """The reason of the last one, as in the log."""


class FailingOrigins:
    """The origins that are down, by host and port."""

    def __init__(self) -> None:
        self.failures: dict[str, OriginFailure] = {}
        self._answered: dict[str, float] = {}
        """When those answered last that did; for a process whose failures another one merges."""

    def add(self, answered: Answered, host: str) -> None:
        """Count a request for which an origin was or would have been contacted."""
        if answered.outcome is Outcome.STALE or answered.reason.startswith(FAILED):
            self._failed(host, OriginFailure(answered.time_s, answered.time_s, 1, answered.reason))
        elif answered.contact:
            self.failures.pop(host, None)
            if len(self._answered) >= HOSTS_KEPT:
                self._answered.clear()
            self._answered[host] = answered.time_s

    def merge(self, other: Self) -> None:
        """Add what another process has counted."""
        for host, at_s in other._answered.items():
            if host in self.failures and self.failures[host].last_s <= at_s:
                del self.failures[host]
        for host, failure in other.failures.items():
            self._failed(host, failure)

    def _failed(self, host: str, failure: OriginFailure) -> None:
        before = self.failures.pop(host, None)
        if before is not None:
            first_s, number = min(before.first_s, failure.first_s), before.number + failure.number
            latest = max(before, failure, key=lambda one: one.last_s)
            failure = replace(latest, first_s=first_s, number=number)
        elif len(self.failures) >= HOSTS_KEPT:
            del self.failures[next(iter(self.failures))]
        self.failures[host] = failure
