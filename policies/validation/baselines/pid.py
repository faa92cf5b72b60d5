"""PID: an interval that a controller moves until a wanted share of contacts finds nothing new."""

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

    I is `initial` at first; after each contact ln I moves by `gain` * (u - share), where u is 1 if the contact found
    the object unchanged, else 0; kept between `min` and `max`.

    Of many contacts a share `share` then finds nothing new, wherever the bounds allow it: found unchanged more often,
    the interval grows. It is the integral part of a controller, the only one that is left where the error of a single
    contact is 1 - share or -share; that the logarithm moves makes it as quick for minutes as for days.

    Source: our own; Aimd, Nutch and StormCrawler fix the steps, and what share they come to depends on them.
    """

    name: ClassVar[str] = "pid"
    needs: ClassVar[Needs] = Needs.OUTCOME

    share: float = 0.5
    """The share of contacts that should find nothing new, 0 to 1."""
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

    def decide(self, known: Features) -> Decision:
        interval_s = self.initial_s
        if not math.isnan(known.state):
            error = -self.share if known.changed else 1.0 - self.share
            interval_s = known.state * math.exp(self.gain * error)
        interval_s = min(max(interval_s, self.min_s), self.max_s)
        return expires_keeping(interval_s, known.t + interval_s)
