"""The segmentation of the day into segments of constant intensity, by penalised maximum likelihood.

Source: Bright, Gal, Raschid, section 3.3.1 and Table 1, which gives segments but no method. The method is ours: exact
dynamic programming over the bins, with a penalty for each segment.
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
    """Set `firsts` (K + 1,) to the first bin of each segment, followed by K; return the number of segments.

    `counts` (K,) are the updates in each bin, `hours` (K,) the hours for which it was observed. The rate of a segment
    is its updates over its hours. Of all segmentations of the K bins this takes the one with the largest Poisson
    log-likelihood less `penalty` >= 0 for each segment; among equals, the one whose last segments are longest. No
    segment crosses midnight. Costs O(K^2).

    `begins` and `worths` (K + 1,) are working arrays of the dynamic programme: for the first k bins, the beginning of
    the last segment, and the penalised log-likelihood.
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
    """Return the log-likelihood of the rate n / h for n updates in h hours, up to a constant of all segmentations."""
    return updates * math.log(updates / hours) if updates > 0 and hours > 0.0 else 0.0


def merge[N: (int, float)](values: MutableSequence[N], firsts: Sequence[int], segments: int) -> None:
    """Set the first `segments` values to the sums of `values` over each segment, whose first bins are `firsts`."""
    for i in range(segments):
        total = values[firsts[i]]
        for k in range(firsts[i] + 1, firsts[i + 1]):
            total += values[k]
        values[i] = total
