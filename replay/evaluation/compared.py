"""The policies that an evaluation compares, each over a range of one parameter."""

from collections.abc import Sequence
from dataclasses import dataclass

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import PRICE, STALE_RATE, make_policy
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.sweeps.grid import Point, points_of

FIVE = ("ttl", "indhist", "agghist", "indagg", "indttl")
"""The policies of the paper."""
FIXED = "fixed"
POINTS = 16
"""The number of values of a parameter."""

_MASS = "theta=0.002..8/{n}"
_LONG = "max=2m..365d/{n}"
_PRICE = "price=0.02..100/{n}"
SWEEPS = (
    "ttl:alpha=0.002..8/{n}",
    f"indhist:{_MASS}",
    f"agghist:{_MASS}",
    f"indagg:{_MASS}",
    f"indttl:{_MASS},alpha=0.1",
    f"renewal:{_PRICE}",
    f"renewal:{_MASS}",
    f"ttl:{_PRICE}",
    f"indhist:{_PRICE}",
    f"agghist:{_PRICE}",
    f"indagg:{_PRICE}",
    f"indttl:{_PRICE}",
    "fixed:interval=15..400000/{n}",
    "groupgap:factor=0.002..20/{n}",
    "squid:percent=0.2..800/{n}",
    "miniflux:factor=0.02..200/{n}",
    f"autottl:min=1m,{_LONG}",
    f"aimd:min=1m,{_LONG}",
    f"nutch:initial=1m,{_LONG}",
    f"stormcrawler:initial=1m,min=1m,{_LONG}",
    "pid:share=0.02..0.98/{n}:lin",
)
"""SPECs of the policies, `{n}` for the number of values."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A policy over a range of its parameters, from short to long lifetimes or in the other direction."""

    name: str
    """The SPEC without the values of the parameters that vary."""
    points: Sequence[Point]

    @property
    def is_of_paper(self) -> bool:
        """Whether this is a policy of the paper, in the form of the paper."""
        policy = self.points[0].policy
        return policy.name in FIVE and type(policy) is POLICIES[policy.name]

    @classmethod
    def of(cls, sweep: str) -> "Compared":
        """Parse a SPEC with ranges. Raises ValueError."""
        points = points_of(sweep)
        name, colon, rest = sweep.partition(":")
        kept = [item.partition("=")[0] if ".." in item else item for item in rest.split(",")]
        return cls(f"{name}{colon}{','.join(kept)}", points)


    def controlled(self, target: float) -> Policy | None:
        """Return the policy with its price controlled for a stale rate; None if it is no price that varies."""
        point = self.points[0]
        if point.swept != (PRICE,) or not target:
            return None
        others = {key: value for key, value in point.written.items() if key != PRICE}
        return make_policy(point.policy.name, {**others, STALE_RATE: target})


def in_detail(policies: Sequence[Compared]) -> Compared | None:
    """Return the policy that is shown in detail: the first one that is neither of the five nor `fixed`."""
    return next((one for one in policies if not one.is_of_paper and one.points[0].policy.name != FIXED), None)


def all_compared(n: int) -> list[Compared]:
    """Return all policies, each with n values of its parameter."""
    return [Compared.of(sweep.format(n=n)) for sweep in SWEEPS]
