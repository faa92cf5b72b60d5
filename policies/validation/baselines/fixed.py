"""Fixed: the same interval for every object, as in most feed readers."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


@dataclass(frozen=True, slots=True)
class Fixed(Formula):
    """expiry = t + interval.

    Source: the polling interval of FreshRSS (one hour), and of Miniflux unless configured otherwise
    (`SCHEDULER_ROUND_ROBIN_ MIN_INTERVAL`, one hour). tt-rss has 30 minutes.
    """

    name: ClassVar[str] = "fixed"

    interval_s: float = HOUR_S
    """0 or more, finite."""

    def __post_init__(self) -> None:
        check_range("interval", self.interval_s)

    def decide(self, features: Features) -> Decision:
        return expires(features.t + self.interval_s)
