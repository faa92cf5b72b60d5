"""Where the intensity of updates changes within the day: the segments that explain the counts best.

Source: Bright, Gal, Raschid, section 3.3.1 and Table 1, whose segments are given without a word on how they were found.
The method is ours: exact, by dynamic programming over the bins, with a penalty for each segment.
"""

import math
from collections.abc import Sequence


def optimal_segments(counts: Sequence[int], hours: Sequence[float], penalty: float) -> list[int]:
    """The first bin of each segment, ascending from 0, and the number of bins K last.

    `counts` (K,) are the updates in each bin and `hours` (K,) for how long it was observed. Within a segment the rate
    is constant, its updates over its hours. Of all ways to cut the K bins the one is found whose Poisson log-likelihood
    less `penalty`, 0 or more, for each segment is largest; of those as good, the one whose last segments are longest.
    Segments do not reach over the end of the day. Costs O(K^2).
    """
    bins = len(counts)
    updates_before, hours_before = [0] * (bins + 1), [0.0] * (bins + 1)
    for k in range(bins):
        updates_before[k + 1] = updates_before[k] + counts[k]
        hours_before[k + 1] = hours_before[k] + hours[k]
    best = [0.0] * (bins + 1)
    begins = [0] * (bins + 1)
    for end in range(1, bins + 1):
        best[end] = -math.inf
        for begin in range(end):
            worth = best[begin] - penalty + log_likelihood(
                updates_before[end] - updates_before[begin], hours_before[end] - hours_before[begin]
            )
            if worth > best[end]:
                best[end], begins[end] = worth, begin
    firsts = [bins]
    while firsts[-1]:
        firsts.append(begins[firsts[-1]])
    return firsts[::-1]


def log_likelihood(updates: int, hours: float) -> float:
    """That of the rate n / h for n updates in h hours, up to what is the same for every way to cut the day."""
    return updates * math.log(updates / hours) if updates and hours > 0.0 else 0.0


def merged[N: (int, float)](values: Sequence[N], segments: Sequence[int]) -> list[N]:
    """The sums of the values of the bins over each segment."""
    return [sum(values[segments[i] : segments[i + 1]]) for i in range(len(segments) - 1)]
