"""The comparison of policies over many settings: ratios at equal stale rates, and their geometric means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.compared import FIXED, Compared, in_detail
from bestbefore.replay.evaluation.curves import Curve, Spread, ratio
from bestbefore.replay.evaluation.evaluation import SettingResult
from bestbefore.replay.simulate.scenario import Cache

LEAST_VALIDATIONS = 20
"""The fewest validations of the best of the five with which others are compared."""
HALF_A_HIT = 0.5
"""The number of stale hits that is added to both sides of a ratio, which is then defined without any stale hit."""
LEAST_STALE = 50
"""The fewest stale hits that a target allows with which the stale rate is compared."""
TTL = "ttl"
ORACLE, BOUND = "oracle", "offline bound"

Needs = Callable[[SettingResult, float], float | None]
"""The validations that something needs in a setting at a stale rate, as a share of the cached requests."""


@dataclass(frozen=True, slots=True)
class ReplayConditions:
    """The settings with the same cache and the same knowledge."""

    cache: Cache
    known: Known

    def __str__(self) -> str:
        caches = {Cache.SHARED: "one shared cache", Cache.CLIENT: "a cache for each client"}
        return f"{caches[self.cache]}, {self.known} histories"


@dataclass(frozen=True, slots=True)
class Loss:
    """A comparison in which a policy needs more validations than the best of the five."""

    outcome: SettingResult
    stale_rate: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes of all settings, compared."""

    policies: Sequence[Compared]
    outcomes: Sequence[SettingResult]
    stale_rates: Sequence[float]

    @property
    def families(self) -> list[str]:
        """The families of the cases, in their order."""
        return list(dict.fromkeys(outcome.setting.case.family for outcome in self.outcomes))

    @property
    def places(self) -> list[ReplayConditions]:
        """The caches and histories, in their order, without those of the first day."""
        found = (ReplayConditions(outcome.setting.cache, outcome.setting.known) for outcome in self.outcomes)
        return [place for place in dict.fromkeys(found) if place.known is not Known.FIRST_DAY]

    @property
    def subject(self) -> Compared | None:
        """The policy shown in detail."""
        return in_detail(self.policies)

    @property
    def fixed(self) -> Compared | None:
        """The policy `fixed`, if it is compared."""
        return next((one for one in self.policies if one.points[0].policy.name == FIXED), None)

    def of(self, policy: Compared) -> Needs:
        """Return what a policy needs."""
        return lambda outcome, rate: outcome.curves[policy.name].validations(rate)

    def best_of_five(self, outcome: SettingResult, rate: float, kind: str | None = None) -> float | None:
        """Return what the best of the five needs; None if none of them reaches the rate, or it is too little."""
        curves = outcome.curves if kind is None else outcome.by_kind.get(kind, {})
        found = [_least(curves, one, rate) for one in self.policies if one.is_of_paper]
        best = min((one for one in found if one is not None), default=0.0)
        return best if best * outcome.cached >= LEAST_VALIDATIONS else None

    def among(self, family: str, cache: Cache, known: Known) -> list[SettingResult]:
        """Return the outcomes of a family in the settings with this cache and knowledge."""
        return [
            outcome
            for outcome in self.outcomes
            if outcome.setting.case.family == family
            and (outcome.setting.cache, outcome.setting.known) == (cache, known)
        ]

    def spread(
        self, family: str, place: ReplayConditions, rate: float, ours: Needs, other: Needs | None = None
    ) -> Spread | None:
        """Return what one needs as a multiple of another, by default of the best of the five."""
        against = self.best_of_five if other is None else other
        outcomes = [one for one in self.among(family, place.cache, place.known) if self.best_of_five(one, rate)]
        return Spread.among([ratio(ours(outcome, rate), against(outcome, rate)) for outcome in outcomes])

    def by_kind(self, family: str, place: ReplayConditions, rate: float, policy: Compared, kind: str) -> Spread | None:
        """Return what a policy needs for objects of a kind, as a multiple of the best of the five for these."""
        outcomes = self.among(family, place.cache, place.known)
        compared = [(one, self.best_of_five(one, rate, kind)) for one in outcomes]
        ratios = [
            ratio(_least(one.by_kind[kind], policy, rate), best) for one, best in compared if best is not None
        ]
        return Spread.among(ratios)

    def losses(self, policy: Compared, more: float) -> Iterator[Loss]:
        """Yield the comparisons in which a policy needs over `more` times the best of the five, the worst first."""
        found = []
        for outcome in self.outcomes:
            for rate in self.stale_rates if outcome.setting.known is not Known.FIRST_DAY else ():
                times = ratio(self.of(policy)(outcome, rate), self.best_of_five(outcome, rate))
                if times is not None and times > more:
                    found.append(Loss(outcome, rate, times))
        yield from sorted(found, key=lambda loss: -loss.ratio)

    def deviations(self, family: str, place: ReplayConditions, target: float) -> list[float]:
        """Return by how much the stale rate differed from a target that was to be held, in each case, over the target.

        Without cases in which so few requests are replayed that the target allows fewer than `LEAST_STALE` stale hits.
        """
        held = (one.held[target] for one in self.among(family, place.cache, place.known) if target in one.held)
        return [rate / target - 1.0 for rate, cached in held if target * cached >= LEAST_STALE]

    def compared(self) -> int:
        """Return the number of comparisons with the best of the five."""
        return sum(
            self.best_of_five(outcome, rate) is not None
            for outcome in self.outcomes
            if outcome.setting.known is not Known.FIRST_DAY
            for rate in self.stale_rates
        )

    def observed(self, family: str, cache: Cache, rate: float, policy: Compared) -> Spread | None:
        """Return what a policy needs with observed histories, as a multiple of what it needs with complete ones."""
        need = self.of(policy)
        complete = {one.setting.case.name: one for one in self.among(family, cache, Known.COMPLETE)}
        both = [
            (one, complete[one.setting.case.name])
            for one in self.among(family, cache, Known.OBSERVED)
            if one.setting.case.name in complete
        ]
        ratios = [
            ratio(need(known, rate), need(whole, rate)) for known, whole in both if self.best_of_five(whole, rate)
        ]
        return Spread.among(ratios)

    def first_day(self, family: str, cache: Cache, rate: float, policy: Compared) -> Spread | None:
        """Return the stale hits of a policy on the first day at the validations with which `ttl` has this stale rate.

        As a multiple of those of `ttl`, whose parameter is the best one for that, with half a hit added to both.
        """
        ratios = []
        for outcome in self.among(family, cache, Known.FIRST_DAY):
            ttl = outcome.curves.get(self._ttl())
            spent = None if ttl is None else ttl.validations(rate)
            if ttl is not None and spent is not None and spent * outcome.cached >= LEAST_VALIDATIONS:
                ours, theirs = outcome.curves[policy.name].stale(spent), ttl.stale(spent) or 0.0
                half = HALF_A_HIT / outcome.cached
                ratios.append(None if ours is None else (ours + half) / (theirs + half))
        return Spread.among(ratios)

    def _ttl(self) -> str:
        own = (one.name for one in self.policies if one.is_of_paper and one.points[0].policy.name == TTL)
        return next(own, "")


def _least(curves: Mapping[str, Curve], policy: Compared, rate: float) -> float | None:
    curve = curves.get(policy.name)
    return None if curve is None else curve.validations(rate)


def oracle(outcome: SettingResult, _rate: float) -> float | None:
    """Return what the oracle needs, without any stale hit."""
    return outcome.oracle


def bound(outcome: SettingResult, rate: float) -> float | None:
    """Return the offline bound."""
    return outcome.bounds[rate]
