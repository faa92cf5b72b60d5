"""PID: an interval controlled so that a given share of contacts is unnecessary."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_bounds, check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires_keeping


@dataclass(frozen=True, slots=True)
class Pid(Formula):
    """expiry = t + I, where I is the interval of this copy.

    I starts at `initial`. Each contact adds `gain` * (u - share) to ln I, where u is 1 if the contact found the object
    unchanged, else 0; I is bounded by `min` and `max`.

    In the long run a share `share` of the contacts is unnecessary, as far as the bounds allow. This is the integral
    term of a PID controller; the proportional and derivative terms are left out, as the error of a single contact is
    always 1 - share or -share. ln I is controlled so that short and long intervals adapt in as many contacts.

    Source: our own. Aimd, Nutch and StormCrawler fix the steps instead, and the share follows from the steps.
    """

    name: ClassVar[str] = "pid"
    needs: ClassVar[Needs] = Needs.OUTCOME

    share: float = 0.5
    """The share of contacts that should find the object unchanged, 0 to 1."""
    gain: float = 0.5
    """0 or more."""
    initial_s: float = HOUR_S
    min_s: float = 60.0
    max_s: float = DAY_S

    def __post_init__(self) -> None:
        check_range("share", self.share, most=1.0)
        check_range("gain", self.gain, most=100.0)
        check_range("initial", self.initial_s)
        check_bounds(self.min_s, self.max_s)

    def decide(self, features: Features) -> Decision:
        interval_s = self.initial_s
        if not math.isnan(features.state):
            error = -self.share if features.changed else 1.0 - self.share
            interval_s = features.state * math.exp(self.gain * error)
        interval_s = min(max(interval_s, self.min_s), self.max_s)
        return expires_keeping(interval_s, features.t + interval_s)
