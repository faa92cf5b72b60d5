"""The replay with observed histories, one pass over requests in order of time, as all caches share observations.

The observations are made by `learning`, the features of decisions are in `observed_features`. The loop is compiled
unchanged by `compiled`.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.machinery.features import ByBin
from bestbefore.replay.kernels.arrays.tallies import keep_after
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.learning import NEVER_S, LearntColumns, learn
from bestbefore.replay.kernels.observed_features import ObservedFeatures
from bestbefore.replay.kernels.rule import AnyRule
from bestbefore.replay.traces.columns.columns import IdArray


class CopyColumns(NamedTuple):
    """The copy of each stream (object and cache), as columns."""

    expiry_s: FloatArray
    """(streams,) the expiry; `NEVER_S` without a copy."""
    change_s: FloatArray
    """(streams,) the first update after the copy was current; infinite without one, or without a copy."""
    state: FloatArray
    """(streams,) the state of the policy, NaN at first; empty for a policy without state."""

    @classmethod
    def none(cls, streams: int, rule: AnyRule) -> Self:
        """Make the columns of empty caches."""
        state = np.full(streams if rule.keeps_state else 0, math.nan)
        return cls(np.full(streams, NEVER_S), np.full(streams, math.inf), state)


def replay(
    times_s: FloatArray,
    object_ids: IdArray,
    stream_ids: IdArray,
    copies: CopyColumns,
    truth: Truth,
    learnt: LearntColumns,
    rule: AnyRule,
    counts: NDArray[np.int64],
    decisions: FloatArray,
    by_bin: ByBin,
) -> int:
    """Replay requests in order of time, not earlier than those of previous calls.

    Outcomes are added to `counts`, whose columns have the order of `Counts`: to its only row, or to a row for each
    object. Returns the number of decisions; if `decisions` (n, 2) is not empty, the time and expiry of each are written
    there. `by_bin` is overwritten.
    """
    decided = 0
    for i in range(len(times_s)):
        t, object_, stream = times_s[i], object_ids[i], stream_ids[i]
        row = counts[object_ if len(counts) > 1 else 0]
        expiry, change_s = copies.expiry_s[stream], copies.change_s[stream]
        if t < expiry:
            row[1] += 1
            if change_s <= t:
                row[2] += 1
            continue
        changed = change_s <= t
        if expiry == NEVER_S:
            row[0] += 1
        else:
            row[3] += 1
            if not changed:
                row[4] += 1
        learn(truth, learnt, object_, t)
        owner, after_s = truth.owner_of[object_], t - rule.history_window_s
        if learnt.counts:
            keep_after(learnt.window, learnt.updates, owner, after_s)
        features = ObservedFeatures(
            t,
            copies.state[stream] if rule.keeps_state else math.nan,
            changed,
            rule.least_exposure_h,
            by_bin,
            learnt,
            object_,
            owner,
            truth.group_of[object_],
            after_s,
        )
        made = rule.decide(features)
        expiry = made.expiry_s
        if rule.keeps_state:
            copies.state[stream] = made.state
        seen, last = learnt.seen[object_], truth.firsts[owner + 1]
        copies.expiry_s[stream] = expiry
        copies.change_s[stream] = truth.updates_s[seen] if seen < last else math.inf
        if len(decisions):
            decisions[decided][0] = t
            decisions[decided][1] = expiry
        decided += 1
    return decided
