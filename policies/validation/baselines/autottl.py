"""AutoTTL: an interval equal to the mean gap between the updates of the last month."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class AutoTtl(Formula):
    """expiry = t + the mean gap between the updates in (t - window, t], within `min` and `max`.

    The interval is `max` with fewer than two updates, and where the last update is older than twice `max`. In the proxy
    the fallback decides instead while fewer than three updates are counted.

    Source: AutoTTL, an extension of FreshRSS (mgnsk/FreshRSS-AutoTTL, README.md), with its defaults; `min` is the
    interval that FreshRSS has for all feeds. The extension's treatment of failing feeds is left out.
    """

    name: ClassVar[str] = "autottl"
    needs: ClassVar[Needs] = Needs.COUNTS
    uses_fallback: ClassVar[bool] = True

    window_s: float = 30 * DAY_S
    """1 s or more."""
    min_s: float = HOUR_S
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("window", self.window_s, least=1.0)
        check_bounds(self.min_s, self.max_s)

    def decide(self, features: Features) -> Decision:
        updates = features.updates_within(self.window_s)
        last_s = features.last_update_s()
        if updates < 2 or features.t - last_s > 2 * self.max_s:
            return expires(features.t + self.max_s)
        gap_s = (last_s - features.oldest_within_s(self.window_s, updates)) / (updates - 1)
        return expires(features.t + min(max(gap_s, self.min_s), self.max_s))
