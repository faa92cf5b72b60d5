"""Traces that differ from a recorded one in one respect, to see what that respect is worth to a policy."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.papers.adaptive.paired import DAYS, ORIGIN_S, Paired
from bestbefore.replay.traces.columns import Updates


def changed(trace: Paired, change: Callable[[FloatArray], FloatArray]) -> Paired:
    """The trace with the updates of each object, (n,) ascending, n > 0, changed; the objects come by name."""
    codes = {name: code for code, name in enumerate(trace.updates.objects)}
    times = {name: change(own) for name, own in sorted(trace.updates.times_by_object().items())}
    ids = [np.full(len(own), codes[name], dtype=np.int32) for name, own in times.items()]
    if not times:
        return trace
    updates = Updates.of(np.concatenate([*times.values()]), np.concatenate(ids), trace.updates.objects)
    return replace(trace, updates=updates)


def without_bursts(least_gap_s: float) -> Callable[[FloatArray], FloatArray]:
    """Only the first of updates that follow each other within the gap."""

    def change(times_s: FloatArray) -> FloatArray:
        kept = np.ones(len(times_s), dtype=bool)
        kept[1:] = np.diff(times_s) > least_gap_s
        return times_s[kept]

    return change


def shuffled(rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    """The same gaps between updates in random order: bursts stay, hours of the day do not."""
    return lambda times_s: ORIGIN_S + np.cumsum(rng.permutation(np.diff(times_s, prepend=ORIGIN_S)))


def redated(rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    """Each update at its time of day on a random day: hours of the day stay, bursts over days do not."""

    def change(times_s: FloatArray) -> FloatArray:
        return np.unique(ORIGIN_S + rng.integers(DAYS, size=len(times_s)) * DAY_S + (times_s - ORIGIN_S) % DAY_S)

    return change


def in_known_hours(test_start_s: float) -> Callable[[FloatArray], FloatArray]:
    """Without those updates of the test that come in an hour of the day in which none came before the test."""

    def change(times_s: FloatArray) -> FloatArray:
        hours = times_s % DAY_S // HOUR_S
        training = times_s < test_start_s
        return times_s[training | np.isin(hours, hours[training])]

    return change


def first_of_their_hour(times_s: FloatArray) -> NDArray[np.bool_]:
    """(n,) of each update, ascending, whether the object had none in that hour of the day before."""
    first = np.zeros(len(times_s), dtype=bool)
    first[np.unique(times_s % DAY_S // HOUR_S, return_index=True)[1]] = True
    return first


def known_beforehand(trace: Paired) -> tuple[Paired, float]:
    """The trace after one with the same updates, so that histories know the hours to come; and its new origin.

    What TTL knows is the same, once each object was updated.
    """
    updates, earlier_s = trace.updates, DAYS * DAY_S
    twice = Updates.of(
        np.concatenate((updates.times_s - earlier_s, updates.times_s)),
        np.concatenate((updates.object_ids, updates.object_ids)),
        updates.objects,
    )
    return replace(trace, updates=twice), ORIGIN_S - earlier_s
