"""StormCrawler: as Nutch, but a change moves the interval towards its minimum."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import DAY_S, HOUR_S, History
from bestbefore.policies.validation.policy import Needs, Outcome
from bestbefore.policies.validation.ranges import check_bounds, check_range
from bestbefore.policies.validation.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class StormCrawler:
    """expiry = t + I, where I is the interval of this copy: `initial` at first; found changed, the weighted mean
    (1 - decrease) * I + decrease * min; found unchanged, (1 + increase) * I, at most `max`.

    Source: StormCrawler, AdaptiveScheduler.java, and its defaults (`fetchInterval.default`, `scheduler.adaptive.*`).
    There intervals are whole minutes, cut; here they are not.
    """

    name: ClassVar[str] = "stormcrawler"
    wants_fallback: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs.OUTCOMES

    initial_s: float = DAY_S
    increase: float = 0.5
    """0 or more."""
    decrease: float = 0.5
    """0 to 1."""
    min_s: float = HOUR_S
    max_s: float = 14 * DAY_S

    def __post_init__(self) -> None:
        check_range("initial", self.initial_s)
        check_range("increase", self.increase)
        check_range("decrease", self.decrease, most=1.0)
        check_bounds(self.min_s, self.max_s)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        interval_s = self.initial_s
        if outcome is not None and outcome.changed:
            interval_s = (1.0 - self.decrease) * outcome.state + self.decrease * self.min_s
        elif outcome is not None:
            interval_s = min((1.0 + self.increase) * outcome.state, self.max_s)
        return Verdict(t + interval_s, Reason.STORMCRAWLER, interval_s)
