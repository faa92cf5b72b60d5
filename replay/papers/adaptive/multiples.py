"""The validations that policies need for a rate of stale hits, as multiples of those of TTL."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bestbefore.replay.papers.adaptive.curves import (
    AGGHIST,
    INDHIST,
    STALE_RATE,
    TTL,
    VALIDATION_RATE,
    PolicyCurve,
    at,
    series_of_curves,
    values_between,
)
from bestbefore.replay.papers.adaptive.formatting import NOT_REACHED, number, ratio, share
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.interpolation import crossing
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.scenario import Scenario

STALE_RATES = (0.01, 0.02, 0.05)
TUNING = values_between(0.004, 1.0, 25)
"""The values of tuning parameters, close enough for the interpolation to be accurate."""
BOUNDED = PolicyCurve("IndHist, max_ttl=1h", "indhist:theta={},max_ttl=1h")
CURVES = (TTL, AGGHIST, INDHIST, BOUNDED)
BOUNDS = ("inf", "1d", "4h", "2h", "1h", "30m")

BOUNDED_POLICIES = (TTL, AGGHIST, INDHIST)

Needed = Sequence[float | None]
"""The validations for each of the stale rates; None if no parameter reaches it."""
Multiples = Mapping[str, Needed]
"""By curve, for each of the stale rates: validations of TTL as shares, of others as multiples of TTL's."""


def multiples(work: Work, scenario: Scenario, what: str) -> Multiples:
    """Return what `CURVES` need; `what` describes the progress."""
    ttl, *others = needed(work, scenario, CURVES, what)
    found = [ttl, *(_over(one, ttl) for one in others)]
    return {curve.name: one for curve, one in zip(CURVES, found, strict=True)}


def cells(found: Multiples) -> Mapping[str, str]:
    """Return a text for each curve, over all stale rates."""
    return {name: joined(one, share if name == TTL.name else number) for name, one in found.items()}


def bounds(work: Work, scenario: Scenario) -> Mapping[str, Multiples]:
    """Return what `BOUNDED_POLICIES` need under each `max_ttl`, as multiples of TTL without one."""
    named = {
        (bound, policy.name): PolicyCurve(f"{policy.name} {bound}", f"{policy.spec},max_ttl={bound}")
        for bound in BOUNDS
        for policy in BOUNDED_POLICIES
    }
    ttl, *others = needed(work, scenario, [TTL, *named.values()], "bounds")
    found = dict(zip(named, (_over(one, ttl) for one in others), strict=True))
    return {bound: {policy.name: found[bound, policy.name] for policy in BOUNDED_POLICIES} for bound in BOUNDS}


def needed(work: Work, scenario: Scenario, curves: Sequence[PolicyCurve], what: str) -> list[Needed]:
    """The validations of each curve, as shares of the requests that found a copy."""
    series = series_of_curves(work, scenario, curves, TUNING, what)
    return [[at(one, STALE_RATE, rate, VALIDATION_RATE) for rate in STALE_RATES] for one in series]


def sampled(work: Work, scenario: Scenario, samples: int, rng: np.random.Generator) -> Mapping[str, str]:
    """Return the 10th and the 90th percentile of `multiples` over bootstrap samples of the objects.

    As many objects are drawn with repetition. Each keeps its counts, so that the group of AggHist is unchanged.
    """
    policies = [point.policy for curve in CURVES for point in curve.points(TUNING)]
    engines = Engines(scenario)
    engines.prepare(policies)
    counted = work.each(engines.replay_objects, policies, "resampled objects")
    names = sorted(counted[0])
    by_object = np.array(
        [
            [(counts[name].cached, counts[name].stale_hits, counts[name].validations) for name in names]
            for counts in counted
        ],
        dtype=float,
    ).reshape(len(counted), len(names), 3)
    found: list[list[Needed]] = []
    for _ in range(samples):
        times = np.bincount(rng.integers(len(names) or 1, size=len(names)), minlength=len(names))
        cached, stale, validations = np.tensordot(by_object, times, axes=(1, 0)).T
        points = np.column_stack((stale, validations)) / np.maximum(cached, 1.0)[:, np.newaxis]
        of_curves = points.reshape(len(CURVES), len(TUNING), 2).tolist()
        ttl, *others = ([crossing(curve, rate) for rate in STALE_RATES] for curve in of_curves)
        found.append([ttl, *(_over(one, ttl) for one in others)])
    return {
        curve.name: " / ".join(
            spread([row[place][rate] for row in found], share if curve is TTL else number)
            for rate in range(len(STALE_RATES))
        )
        for place, curve in enumerate(CURVES)
    }


def spread(values: Sequence[float | None], written: Callable[[float | None], str]) -> str:
    """Format the 10th and the 90th percentile of the values that are not None, if these are the majority.

    >>> spread([0.0, 1.0, 2.0, None], number), spread([1.0, None, None], number)
    ('0.20 to 1.80', '–')
    """
    reached = [value for value in values if value is not None]
    if 2 * len(reached) < len(values) or not reached:
        return NOT_REACHED
    return " to ".join(written(float(value)) for value in np.percentile(reached, (10, 90)))


def _over(one: Needed, ttl: Needed) -> Needed:
    return [ratio(value, of) for value, of in zip(one, ttl, strict=True)]


def joined(values: Needed, written: Callable[[float | None], str] = number) -> str:
    """Format the values for all stale rates."""
    return " / ".join(map(written, values))
