"""Squid's refresh_pattern: a percentage of the time since the last modification, within a maximum."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S
from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Squid(Formula):
    """expiry = t + percent of (t - u_n), at most `max`; t + `min` where no update is known or the last one is at t.

    `min` does not bound the percentage: Squid uses it only where there is no Last-Modified.

    Source: Squid, src/refresh.cc, refreshStaleness, and its defaults (0, 20 %, 3 days). Squid's first rule, an explicit
    lifetime given by the origin, is left out.
    """

    name: ClassVar[str] = "squid"

    min_s: float = 0.0
    percent: float = 20.0
    """Percent of the time since the last update, 0 or more."""
    max_s: float = 3 * DAY_S

    def __post_init__(self) -> None:
        check_bounds(self.min_s, self.max_s)
        check_range("percent", self.percent)

    def decide(self, features: Features) -> Decision:
        last_s = features.last_update_s()
        age_s = 0.0 if math.isnan(last_s) else features.t - last_s
        ttl_s = self.min_s if age_s == 0.0 else self.percent / 100 * age_s
        return expires(features.t + min(ttl_s, self.max_s))
