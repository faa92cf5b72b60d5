"""TTL: a copy stays fresh for a fixed share of the time since the last update of its object."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


def ttl_expiry_s(features: Features, alpha: float) -> float:
    """t + alpha * (t - u_n)."""
    last_s = features.last_update_s()
    if math.isnan(last_s):
        last_s = features.known_since_s()
    return features.t + alpha * (features.t - last_s)


@dataclass(frozen=True, slots=True)
class Ttl(Formula):
    """expiry = t + alpha * (t - u_n), where u_n is the last update, or t_0 if none is known.

    Source: Bright, Gal, Raschid, section 4.1. The use of t_0 for an object without updates is ours.
    """

    name: ClassVar[str] = "ttl"

    alpha: float = 0.1
    """Share of the time since the last update, 0 or more."""

    def __post_init__(self) -> None:
        check_range("alpha", self.alpha)

    def decide(self, features: Features) -> Decision:
        return expires(ttl_expiry_s(features, self.alpha))
