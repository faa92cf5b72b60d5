"""The replay of streams with complete histories, from contact to contact: plain loops, compiled by `compiled`.

The features of decisions are in `complete_features`; the loops do not depend on single policies.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.demand import CopyDemand, first_request, requested
from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.machinery.features import ByBin
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.memories import demand_with
from bestbefore.replay.kernels.complete_features import CompleteFeatures
from bestbefore.replay.kernels.lookup import first_after, first_at_or_after, updates_of
from bestbefore.replay.kernels.rule import AnyRule
from bestbefore.replay.traces.columns.columns import IdArray


def replay(
    times_s: FloatArray,
    firsts: NDArray[np.int64],
    object_ids: IdArray,
    begin: int,
    end: int,
    known: PackedHistories,
    rule: AnyRule,
    counts: NDArray[np.int64],
    decisions: FloatArray,
    by_bin: ByBin,
) -> int:
    """Replay the streams from `begin` up to `end`.

    `times_s`, `firsts` and `object_ids` are those of `Streams`. Outcomes are added to `counts`, whose columns have the
    order of `Counts`: to its only row, or to a row for each object, beginning with the object of the first stream.

    A decision is made at each contact that is not the last request of its stream. Returns the number of decisions; if
    `decisions` (n, 2) is not empty, the time and expiry of each are written there. `by_bin` is overwritten.
    """
    decided = 0
    for stream in range(begin, end):
        object_ = object_ids[stream]
        here, stop = firsts[stream], firsts[stream + 1]
        first, last = updates_of(known.objects, known.history_of[object_])
        seen = first_after(known.objects.times_s, first, last, times_s[here])
        row = counts[object_ - object_ids[begin] if len(counts) > 1 else 0]
        row[0] += 1
        t = times_s[here]
        asked = demand_with(known.asked, stream, t) if rule.counts_requests else first_request(t)
        decided += follow(times_s, here, stop, object_, seen, asked, known, rule, row, decisions[decided:], by_bin)
    return decided


def follow(
    times_s: FloatArray,
    here: int,
    stop: int,
    object_: int,
    seen: int,
    asked: CopyDemand,
    known: PackedHistories,
    rule: AnyRule,
    row: NDArray[np.int64],
    decisions: FloatArray,
    by_bin: ByBin,
) -> int:
    """Replay one stream from its first request, `here`, to its end, `stop`, and add the outcomes to `row`.

    `seen` is the object's first update after that request, `asked` the demand with it. The other arguments are those of
    `replay`.
    """
    updates_s = known.objects.times_s
    owner, group = known.history_of[object_], known.group_of[object_]
    first, last = updates_of(known.objects, owner)
    state, changed = math.nan, False
    n = 0
    while here + 1 < stop:
        t = times_s[here]
        after_s = t - rule.history_window_s
        counted = first if rule.history_window_s == math.inf else first_after(updates_s, first, seen, after_s)
        features = CompleteFeatures(
            t, state, changed, math.nan, rule.least_exposure_h, by_bin, known, owner, group, first, counted, seen, last,
            after_s, asked,
        )
        decided = rule.decide(features)
        expiry, state = decided.expiry_s, decided.state
        if len(decisions):
            decisions[n, 0] = t
            decisions[n, 1] = expiry
        n += 1
        there = first_at_or_after(times_s, here + 1, stop, expiry)
        change_s = updates_s[seen] if seen < last else math.inf
        hits = there - here - 1
        row[1] += hits
        if hits and change_s <= times_s[there - 1]:
            row[2] += there - first_at_or_after(times_s, here + 1, there, change_s)
        if there < stop:
            if rule.counts_requests:
                for request in range(here + 1, there + 1):
                    asked = requested(asked, times_s[request])
            row[3] += 1
            changed = change_s <= times_s[there]
            if changed:
                seen = first_after(updates_s, seen, last, times_s[there])
            else:
                row[4] += 1
        here = there
    return n
