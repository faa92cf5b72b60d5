"""IndHist: a copy stays fresh until the object's own history lets theta updates be expected."""

from dataclasses import dataclass
from typing import ClassVar

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.models.intensity import HOURLY_S, exposure_h, first_passage_s, observed_rates_per_hour
from bestbefore.policies.validation.machinery.policy import Needs, Outcome
from bestbefore.policies.validation.machinery.ranges import check_range
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict


def individual_rates_per_hour(history: History, until_s: float) -> list[float]:
    """lambda_k of the 24 hour bins from the updates of the object up to `until_s`, where t_0 <= until_s."""
    return observed_rates_per_hour(
        history.counts(history.counted_after_s, until_s),
        exposure_h(HOURLY_S, history.observed_since_s, until_s),
        history.least_exposure_h,
    )


@dataclass(frozen=True, slots=True)
class IndHist:
    """expiry = the first t' with Lambda(t, t') >= theta under the object's own hourly rates; never, if all are 0.

    With theta = 0 it is t in any case.

    Source: Bright, Gal, Raschid, sections 3.3.2 and 4.3. There a request is tested against theta when it comes; the
    mass only grows, so that the moment from which the test fails can be told beforehand. A bin is divided by the hours
    for which it was observed, where the paper divides by the number of days.
    """

    name: ClassVar[str] = "indhist"
    wants_fallback: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs.PAST

    theta: float = 0.1
    """Expected updates that are tolerated, 0 or more."""

    def __post_init__(self) -> None:
        check_range("theta", self.theta)

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:  # noqa: ARG002
        rates = individual_rates_per_hour(history, t)
        return Verdict(first_passage_s(HOURLY_S, rates, t, self.theta), Reason.INDHIST)
