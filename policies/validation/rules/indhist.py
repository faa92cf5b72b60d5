"""IndHist: a copy stays fresh until the object's own history lets theta updates be expected."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.intensity import first_passage_s
from bestbefore.policies.validation.machinery.estimates import set_own_rates
from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Decision, expires


def indhist_expiry_s(known: Features, theta: float) -> float:
    """The first t' with Lambda(t, t') >= theta under the object's own hourly rates."""
    set_own_rates(known)
    return first_passage_s(known.by_bin.hourly_s, known.by_bin.rates, known.t, theta)


@dataclass(frozen=True, slots=True)
class IndHist(Formula):
    """expiry = the first t' with Lambda(t, t') >= theta under the object's own hourly rates; never, if all are 0.

    With theta = 0 it is t in any case.

    Source: Bright, Gal, Raschid, sections 3.3.2 and 4.3. There a request is tested against theta when it comes; the
    mass only grows, so that the moment from which the test fails can be computed beforehand. A bin is divided by the
    hours for which it was observed, where the paper divides by the number of days.
    """

    name: ClassVar[str] = "indhist"
    needs: ClassVar[Needs] = Needs.COUNTS
    wants_fallback: ClassVar[bool] = True

    theta: float = 0.1
    """Expected updates that are tolerated, 0 or more."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)

    def decide(self, known: Features) -> Decision:
        return expires(indhist_expiry_s(known, self.theta))
