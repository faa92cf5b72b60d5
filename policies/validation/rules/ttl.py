"""TTL: a copy stays fresh for a share of the time since its object last changed."""

import math
from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.validation.machinery.features import Features
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


def ttl_expiry_s(known: Features, alpha: float) -> float:
    """t + alpha * (t - u_n)."""
    last_s = known.last_update_s()
    if math.isnan(last_s):
        last_s = known.known_since_s()
    return known.t + alpha * (known.t - last_s)


@dataclass(frozen=True, slots=True)
class Ttl(Formula):
    """expiry = t + alpha * (t - u_n), with the last update u_n, or t_0 if none is known.

    Source: Bright, Gal, Raschid, section 4.1. The time since t_0 for an object without updates is ours.
    """

    name: ClassVar[str] = "ttl"

    alpha: float = 0.1
    """Share of the time since the last update, 0 or more."""

    def __post_init__(self) -> None:
        check_range("alpha", self.alpha)

    def decide(self, known: Features) -> Decision:
        return expires(ttl_expiry_s(known, self.alpha))
