"""Replay with observed histories: one pass over requests in order of time, as what is learnt is learnt by all caches.

What is learnt is in `learning`, what policies know of it in `observed_features`. What stands here is how copies are
used. Compiled as it is: see `walk`.
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
    """The copy of each stream: of each object in each cache."""

    expiry_s: FloatArray
    """`NEVER_S` where there is no copy."""
    change_s: FloatArray
    """When the object changes next after the copy was current; infinite if it does not, or there is no copy."""
    state: FloatArray
    """What the policy keeps, NaN at first. Empty for a policy that keeps nothing."""

    @classmethod
    def none(cls, streams: int, rule: AnyRule) -> Self:
        """Return the state in which all caches are empty."""
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
    """Replay requests in order of time, later than those before.

    What is counted is added to `counts`, whose columns are in the order of `Counts`: either to its only row, or to a
    row for each object. Returns at how many requests the rule decided; if `decisions` is not empty, (n, 2), the moment
    and the expiry of each are written there. `by_bin` is written over.
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
