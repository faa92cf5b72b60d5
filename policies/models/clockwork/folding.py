"""Spans of a circle that hold most of some phases."""

import numpy as np

from bestbefore.policies.units import FloatArray, IntArray

LEAST_COUNT = 4
"""The least number of phases in a span."""
LEAST_SHARE = 0.1
"""The least share of all phases in a span."""


def apart(times_s: FloatArray, gap_s: float) -> FloatArray:
    """Return the ascending times without those that follow the one before within `gap_s`: the first of each burst."""
    return times_s[np.diff(times_s, prepend=-np.inf) > gap_s]


def fullest_spans(phases_s: FloatArray, period_s: float, length_s: float, number: int) -> list[tuple[float, float]]:
    """Return at most `number` disjoint spans of at most `length_s` with the most phases, greedily, by their beginnings.

    A span begins and ends with a phase, in [0, period); its end is beyond the period if it contains the beginning.
    """
    spans: list[tuple[float, float]] = []
    left = np.sort(phases_s)
    least = max(LEAST_COUNT, LEAST_SHARE * left.size)
    while left.size and len(spans) < number:
        twice = np.concatenate((left, left + period_s))
        counts = np.searchsorted(twice, left + length_s, side="right") - np.arange(left.size)
        best = int(np.argmax(counts))
        count = int(counts[best])
        if count < least:
            break
        spans.append((float(twice[best]), float(twice[best + count - 1])))
        left = np.delete(left, np.arange(best, best + count) % left.size)
    return sorted(spans)


def span_of(phases_s: FloatArray, period_s: float, spans: list[tuple[float, float]], slack_s: float) -> IntArray:
    """(n,) the number of the first span that holds each phase, with `slack_s` at both ends; -1 where none does."""
    number = np.full(phases_s.size, -1, dtype=np.intp)
    for k, (from_s, until_s) in reversed(list(enumerate(spans))):
        number[(phases_s - from_s + slack_s) % period_s <= until_s - from_s + 2.0 * slack_s] = k
    return number


def joined(spans: list[tuple[float, float]], period_s: float, gap_s: float) -> list[tuple[float, float]]:
    """Return the spans, disjoint and by their beginnings, with those joined that are at most `gap_s` apart."""
    found: list[tuple[float, float]] = []
    for from_s, until_s in spans:
        if found and from_s - found[-1][1] <= gap_s:
            found[-1] = (found[-1][0], until_s)
        else:
            found.append((from_s, until_s))
    if len(found) > 1 and found[0][0] + period_s - found[-1][1] <= gap_s:
        (_, until_s), *between, (from_s, _) = found
        found = [*between, (from_s, until_s + period_s)]
    return found
