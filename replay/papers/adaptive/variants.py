"""Traces that differ from a recorded one in one property, to measure its effect on policies."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.papers.adaptive.paired import DAYS, ORIGIN_S, Paired
from bestbefore.replay.traces.columns.columns import Updates

REPEATED = 10
"""The number of repetitions of the fifteen days that precede the trace, so that rates are known."""


def changed(trace: Paired, change: Callable[[FloatArray], FloatArray]) -> Paired:
    """The trace with the updates of each object, (n,) ascending, n > 0, changed; the objects come by name."""
    codes = {name: code for code, name in enumerate(trace.updates.objects)}
    times = {name: change(own) for name, own in sorted(trace.updates.times_by_object().items())}
    ids = [np.full(len(own), codes[name], dtype=np.int32) for name, own in times.items()]
    if not times:
        return trace
    updates = Updates.of(np.concatenate([*times.values()]), np.concatenate(ids), trace.updates.objects)
    return replace(trace, updates=updates)


def shuffled(rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    """Shuffle the gaps between updates, which keeps bursts but not the hours of the day."""
    return lambda times_s: ORIGIN_S + np.cumsum(rng.permutation(np.diff(times_s, prepend=ORIGIN_S)))


def independent(rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    """Updates of a Poisson process with the object's mean rate in each hour of the day: what IndHist assumes.

    An object for which none is drawn keeps its first update.
    """

    def change(times_s: FloatArray) -> FloatArray:
        hours = rng.poisson(np.bincount((times_s % DAY_S // HOUR_S).astype(int), minlength=24))
        begins_s = ORIGIN_S + np.repeat(np.arange(24), hours) * HOUR_S
        drawn = begins_s + rng.integers(DAYS, size=len(begins_s)) * DAY_S + rng.random(len(begins_s)) * HOUR_S
        return np.unique(drawn) if len(drawn) else times_s[:1]

    return change


def first_of_their_hour(times_s: FloatArray) -> NDArray[np.bool_]:
    """(n,) whether each update, ascending, is the object's first one in its hour of the day."""
    first = np.zeros(len(times_s), dtype=bool)
    first[np.unique(times_s % DAY_S // HOUR_S, return_index=True)[1]] = True
    return first


def known_beforehand(trace: Paired, rates_of: Paired) -> tuple[Paired, float]:
    """Return the trace preceded by `REPEATED` copies of the updates of another trace of its objects, and its origin.

    Histories then contain the rates of that trace. TTL is not affected once each object has been updated.
    """
    before, days_s = rates_of.updates, DAYS * DAY_S
    earlier_s = [before.times_s - days_s * times for times in range(1, REPEATED + 1)]
    updates = Updates.of(
        np.concatenate((*earlier_s, trace.updates.times_s)),
        np.concatenate((*[before.object_ids] * REPEATED, trace.updates.object_ids)),
        trace.updates.objects,
    )
    return replace(trace, updates=updates), ORIGIN_S - days_s * REPEATED
