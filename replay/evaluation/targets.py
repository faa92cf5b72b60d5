"""The limits that a policy must keep to be the default, compared with what it needs."""

from collections.abc import Iterator, Mapping
from statistics import median

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.comparison import Comparison, ReplayConditions
from bestbefore.replay.evaluation.curves import Spread
from bestbefore.replay.evaluation.tables import NOT_COMPARED, Table, shown
from bestbefore.replay.report.formatting import percent
from bestbefore.replay.simulate.scenario import Cache

SHARED: Mapping[float, float] = {0.01: 0.57, 0.02: 0.54, 0.05: 0.52, 0.1: 0.44}
"""By stale rate, the most validations with one shared cache, over the best of the five."""
CLIENT: Mapping[float, float] = {0.01: 1.03, 0.02: 1.03, 0.05: 0.95, 0.1: 0.95}
"""The same with a cache for each client."""
OBSERVED = 1.05
"""The most validations with observed histories, over those with complete ones, with one shared cache."""
HELD = 0.2
"""The most by which the stale rate may differ from a target that is held, over the target."""
FIRST_DAY = 1.0
"""The most stale hits on the first day, over those of `ttl` with as many validations."""


def of_targets(compared: Comparison, family: str) -> Table:
    """Each limit with the geometric mean of the policy in detail, and whether that keeps it."""
    rows = [
        [what, percent(rate), f"{most:.2f}", shown(found), kept(found, most)]
        for what, rate, most, found in _limits(compared, family)
    ]
    return ["condition", "stale hits", "at most", "measured", "kept"], rows


def of_held(compared: Comparison, family: str) -> Table:
    """Each stale rate that was to be held, with the deviations from it, and whether it was held on each trace."""
    rows = []
    for place in compared.places:
        for rate in compared.stale_rates:
            found = compared.deviations(family, place, rate)
            if found:
                within = sum(abs(one) <= HELD for one in found)
                ends, of = f"{min(found):+.0%} to {max(found):+.0%}", len(found)
                held = "yes" if within == of else "no"
                rows.append([str(place), percent(rate), f"{median(found):+.0%}", ends, f"{within} of {of}", held])
    return ["caches, histories", "target", "median", "all", f"within {HELD:.0%}", "held"], rows


def kept(found: Spread | None, most: float) -> str:
    """Say whether a geometric mean keeps a limit."""
    if found is None:
        return NOT_COMPARED
    return "yes" if found.known == found.of and found.mean <= most else "no"


def _limits(compared: Comparison, family: str) -> Iterator[tuple[str, float, float, Spread | None]]:
    subject = compared.subject
    assert subject is not None
    need = compared.of(subject)
    for cache, limits in ((Cache.SHARED, SHARED), (Cache.CLIENT, CLIENT)):
        place = ReplayConditions(cache, Known.COMPLETE)
        for rate in compared.stale_rates:
            if place in compared.places and rate in limits:
                found = compared.spread(family, place, rate, need)
                yield f"{place}, over the best of the five", rate, limits[rate], found
    for rate in compared.stale_rates:
        found = compared.observed(family, Cache.SHARED, rate, subject)
        if found is not None:
            yield "one shared cache, observed over complete histories", rate, OBSERVED, found
    for cache in Cache:
        for rate in compared.stale_rates:
            found = compared.first_day(family, cache, rate, subject)
            if found is not None:
                yield f"first day, {cache} cache, stale hits over `ttl`", rate, FIRST_DAY, found
