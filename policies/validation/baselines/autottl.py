"""AutoTTL: poll as often as entries came on average during the last month."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class AutoTtl(Formula):
    """expiry = t + the mean gap between the updates in (t - window, t], between `min` and `max`.

    It is `max` with fewer than two updates, and where the last one is older than twice `max`.

    Source: AutoTTL, an extension of FreshRSS (mgnsk/FreshRSS-AutoTTL, README.md), with its defaults; `min` is the
    interval that FreshRSS has for all feeds. What the extension does about feeds that fail is not the policy's affair.
    """

    name: ClassVar[str] = "autottl"
    needs: ClassVar[Needs] = Needs.COUNTS

    window_s: float = 30 * DAY_S
    """1 s or more."""
    min_s: float = HOUR_S
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("window", self.window_s, least=1.0)
        check_bounds(self.min_s, self.max_s)

    def decide(self, known: Features) -> Decision:
        updates = known.updates_within(self.window_s)
        last_s = known.last_update_s()
        if updates < 2 or known.t - last_s > 2 * self.max_s:
            return expires(known.t + self.max_s)
        gap_s = (last_s - known.oldest_within_s(self.window_s, updates)) / (updates - 1)
        return expires(known.t + min(max(gap_s, self.min_s), self.max_s))
