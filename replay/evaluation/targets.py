"""The criteria by which a policy becomes the default, compared with what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bestbefore.policies.units import DAY_S
from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.comparison import Comparison, ReplayConditions
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.evaluation.evaluation import SETTLED_S
from bestbefore.replay.evaluation.tables import NOT_COMPARED, Table, shown
from bestbefore.replay.report.formatting import percent
from bestbefore.replay.simulate.scenario import Cache

SHARED: Mapping[float, float] = {0.01: 0.57, 0.02: 0.54, 0.05: 0.52, 0.1: 0.44}
"""By stale rate, the most validations with one shared cache, over the best of the five."""
CLIENT: Mapping[float, float] = {0.05: 0.95, 0.1: 0.95}
"""The same with a cache for each client."""
CLIENT_EACH = 1.03
"""The most validations on any trace with a cache for each client, over the best of the five."""
OBSERVED = 1.05
"""The most validations with observed histories, over those with complete ones, with one shared cache."""
FIRST_DAY = 1.0
"""The most stale hits on the first day of any trace, over those of `ttl` with as many validations."""
HELD = 0.2
"""The most by which the stale rate may differ from a target that is held, over the target."""
LEAST_HELD = 0.02
"""The least target that is to be held, with one shared cache."""
MEAN, EACH = "mean", "each trace"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A limit, what was measured, and whether the limit is met."""

    what: str
    stale_rate: float
    of: str
    """Whether the limit is one of the geometric mean or of each trace."""
    limit: str
    measured: str
    met: bool | None
    """None: not measured."""


def criteria(compared: Comparison, family: str) -> Sequence[Criterion]:
    """Return the criteria for the policy in detail on the traces of a family."""
    limits = [
        Criterion(what, rate, of, f"{most:.2f}", shown(found), met(found, most, of))
        for what, rate, of, most, found in _limits(compared, family)
    ]
    return [*limits, *_held(compared, family)]


def of_criteria(found: Sequence[Criterion]) -> Table:
    """Each criterion with what was measured, and whether it is met."""
    answers = {True: "yes", False: "no", None: NOT_COMPARED}
    rows = [[one.what, percent(one.stale_rate), one.of, one.limit, one.measured, answers[one.met]] for one in found]
    return ["criterion", "stale hits", "of", "at most", "measured", "met"], rows


def verdict(name: str, found: Sequence[Criterion]) -> str:
    """Say how many of the measured criteria a policy meets, and whether it is to be the default."""
    answers = [one.met for one in found if one.met is not None]
    may = "may be the default" if answers and all(answers) else "is not to be the default"
    return f"`{name}` meets {sum(answers)} of {len(answers)} criteria that were measured: it {may}."


def of_held(compared: Comparison, family: str) -> Table:
    """Each stale rate that was to be held, with the deviations from it, and whether it was held on each trace."""
    rows = []
    for place in compared.places:
        for rate in compared.stale_rates:
            found = compared.deviations(family, place, rate)
            if found:
                within = sum(abs(one) <= HELD for one in found)
                ends, of = _ends(found), len(found)
                held = "yes" if within == of else "no"
                rows.append([str(place), percent(rate), f"{median(found):+.0%}", ends, f"{within} of {of}", held])
    return ["caches, histories", "target", "median", "all", f"within {HELD:.0%}", "held"], rows


def met(found: Spread | None, most: float, of: str) -> bool | None:
    """Whether the mean, or each trace, keeps a limit; None if nothing was measured.

    A stale rate that is not reached on each trace is a limit that is not kept.
    """
    if found is None:
        return None
    return found.known == found.of and (found.mean if of == MEAN else found.most) <= most


def _ends(deviations: Sequence[float]) -> str:
    return f"{min(deviations):+.0%} to {max(deviations):+.0%}"


def _held(compared: Comparison, family: str) -> Iterator[Criterion]:
    for place in compared.places:
        for rate in compared.stale_rates:
            found = compared.deviations(family, place, rate)
            if found and place.cache is Cache.SHARED and rate >= LEAST_HELD:
                what = f"{place}, stale rate held after {SETTLED_S / DAY_S:g} days, deviation"
                yield Criterion(what, rate, EACH, f"{HELD:.0%}", _ends(found), max(map(abs, found)) <= HELD)


def _limits(compared: Comparison, family: str) -> Iterator[tuple[str, float, str, float, Spread | None]]:
    subject = compared.subject
    assert subject is not None
    need = compared.of(subject)
    for cache, limits in ((Cache.SHARED, SHARED), (Cache.CLIENT, CLIENT)):
        place = ReplayConditions(cache, Known.COMPLETE)
        for rate in compared.stale_rates:
            if place in compared.places and rate in limits:
                yield f"{place}, over the best of the five", rate, MEAN, limits[rate], compared.spread(
                    family, place, rate, need
                )
    for place in compared.places:
        for rate in compared.stale_rates:
            if place.cache is Cache.CLIENT and place.known is not Known.CHANGED:
                yield f"{place}, over the best of the five", rate, EACH, CLIENT_EACH, compared.spread(
                    family, place, rate, need
                )
    for rate in compared.stale_rates:
        found = compared.observed(family, Cache.SHARED, rate, subject)
        if found is not None:
            yield "one shared cache, observed over complete histories", rate, MEAN, OBSERVED, found
    for cache in Cache:
        for rate in compared.stale_rates:
            found = compared.first_day(family, cache, rate, subject)
            if found is not None:
                yield f"first day, {cache} cache, stale hits over `ttl`", rate, EACH, FIRST_DAY, found
