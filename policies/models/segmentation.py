"""The segmentation of the day: the segments of constant intensity that explain the counts best.

Source: Bright, Gal, Raschid, section 3.3.1 and Table 1, whose segments are given without a word on how they were found.
The method is ours: exact, by dynamic programming over the bins, with a penalty for each segment.
"""

import math
from collections.abc import MutableSequence, Sequence


def set_segments(
    firsts: MutableSequence[int],
    begins: MutableSequence[int],
    worths: MutableSequence[float],
    counts: Sequence[int],
    hours: Sequence[float],
    penalty: float,
) -> int:
    """Set the beginning of `firsts` (K + 1,) to the first bin of each segment and K, and return how many segments.

    `counts` (K,) are the updates in each bin and `hours` (K,) for how long it was observed. Within a segment the rate
    is constant, its updates over its hours. Of all ways to cut the K bins the one is found whose Poisson log-likelihood
    less `penalty`, 0 or more, for each segment is largest; of those as good, the one whose last segments are longest.
    Segments do not reach over the end of the day. Costs O(K^2).

    `begins` and `worths` (K + 1,) are written over: where the last segment of the first k bins begins, and what these
    are worth.
    """
    bins = len(counts)
    worths[0] = 0.0
    for end in range(1, bins + 1):
        worths[end] = -math.inf
        updates = 0
        observed_h = 0.0
        for begin in range(end - 1, -1, -1):
            updates += counts[begin]
            observed_h += hours[begin]
            worth = worths[begin] - penalty + log_likelihood(updates, observed_h)
            if worth >= worths[end]:
                worths[end] = worth
                begins[end] = begin
    segments = 0
    end = bins
    while end:
        segments += 1
        end = begins[end]
    firsts[segments] = end = bins
    for i in range(segments - 1, -1, -1):
        firsts[i] = end = begins[end]
    return segments


def log_likelihood(updates: float, hours: float) -> float:
    """Return the log-likelihood of the rate n / h for n updates in h hours, up to a constant for all segmentations."""
    return updates * math.log(updates / hours) if updates > 0 and hours > 0.0 else 0.0


def merge[N: (int, float)](values: MutableSequence[N], firsts: Sequence[int], segments: int) -> None:
    """Set the beginning of `values` to their sums over each of so many segments, whose first bins are `firsts`."""
    for i in range(segments):
        total = values[firsts[i]]
        for k in range(firsts[i] + 1, firsts[i + 1]):
            total += values[k]
        values[i] = total
