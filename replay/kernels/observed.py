"""The replay in one pass over requests in order of time: where all caches share observations, siblings or a price.

What is known of objects is in `known`. The loop is compiled unchanged by `compiled`.
"""

import math
from collections.abc import MutableSequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.demand import first_request
from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.machinery.features import ByBin
from bestbefore.replay.kernels.arrays.memories import count_request
from bestbefore.replay.kernels.arrays.rows import in_rows
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.controlled import Control
from bestbefore.replay.kernels.known import DecisionContact, Known
from bestbefore.replay.kernels.learning import NEVER_S
from bestbefore.replay.kernels.rule import AnyRule
from bestbefore.replay.kernels.siblings import SiblingColumns, is_outdated, stored
from bestbefore.replay.traces.columns.columns import IdArray

BLOCK = 2048
"""The requests that are split into hits and possible contacts at a time."""


class CopyColumns(NamedTuple):
    """The copy of each stream (object and cache), as columns."""

    expiry_s: FloatArray
    """(streams,) the expiry; `NEVER_S` without a copy."""
    change_s: FloatArray
    """(streams,) the first update after the copy was current; infinite without one, or without a copy."""
    state: FloatArray
    """(streams,) the state of the policy, NaN at first; empty for a policy without state."""
    asked: FloatArray
    """(streams, fields) the requests so far as `CopyDemand`, with 0 before the first; empty if no policy reads them."""

    @classmethod
    def none(cls, streams: int, rule: AnyRule, asked: FloatArray) -> Self:
        """Make the columns of empty caches; `asked` is the demand so far, which is overwritten."""
        state = np.full(streams if rule.keeps_state else 0, math.nan)
        expiry_s, change_s = in_rows(np.full(streams, NEVER_S), np.full(streams, math.inf))
        return cls(expiry_s, change_s, state, asked)


def replay(
    times_s: FloatArray,
    object_ids: IdArray,
    stream_ids: IdArray,
    copies: CopyColumns,
    control: Control,
    truth: Truth,
    known: Known,
    sites: SiblingColumns,
    rule: AnyRule,
    counts: NDArray[np.int64],
    decisions: FloatArray,
    by_bin: ByBin,
    late: MutableSequence[int],
) -> int:
    """Replay requests in order of time, not earlier than those of previous calls.

    Outcomes are added to `counts`, whose columns have the order of `Counts`: to its only row, or to a row for each
    object. Returns the number of decisions; if `decisions` (n, 2) is not empty, the time and expiry of each are written
    there. `by_bin` and `late` (`BLOCK` numbers) are overwritten.
    """
    decided = 0
    uses_siblings = sites.least < 1.0
    for begin in range(0, len(times_s), BLOCK):
        end = min(begin + BLOCK, len(times_s))
        n = end - begin
        if rule.counts_requests or uses_siblings:  # each counts before later ones, or may find its copy outdated
            for i in range(n):
                late[i] = begin + i
        else:
            n = set_late(late, times_s, object_ids, stream_ids, begin, end, copies, counts)
        for k in range(n):
            known.load_rows(object_ids, late, k, n)
            i = late[k]
            t, object_, stream = times_s[i], object_ids[i], stream_ids[i]
            group = truth.group_of[object_]
            row = counts[object_ if len(counts) > 1 else 0]
            asked = count_request(copies.asked, stream, t) if rule.counts_requests else first_request(t)
            expiry, change_s = copies.expiry_s[stream], copies.change_s[stream]
            if t < expiry and not (uses_siblings and is_outdated(sites, truth, object_, stream)):
                row[1] += 1
                row[2] += change_s <= t
                control.count_hit(stream, group, t)
                continue
            changed = change_s <= t
            if expiry == NEVER_S:
                row[0] += 1
            else:
                row[3] += 1
                row[4] += not changed
                control.count_validation(stream, group, t, changed)
            known.observe(object_, t)
            moment = DecisionContact(
                t, copies.state[stream] if rule.keeps_state else math.nan, changed,
                control.set_price(stream, group, t, known.mean_rate(object_, t)), asked,
            )
            features = known.features_at(object_, moment, rule, by_bin)
            made = rule.decide(features)
            if rule.keeps_state:
                copies.state[stream] = made.state
            copies.expiry_s[stream] = made.expiry_s
            copies.change_s[stream] = known.following_s(object_)
            if uses_siblings:
                stored(sites, truth, known, object_, stream, t, made.expiry_s)
            if len(decisions):
                decisions[decided][0] = t
                decisions[decided][1] = made.expiry_s
            decided += 1
    return decided


def set_late(
    late: MutableSequence[int],
    times_s: FloatArray,
    object_ids: IdArray,
    stream_ids: IdArray,
    begin: int,
    end: int,
    copies: CopyColumns,
    counts: NDArray[np.int64],
) -> int:
    """Set `late` to the requests that may be contacts, in order, and count the others as hits. Returns their number.

    These are the requests at or after the expiry that their copy had at `begin`. Every contact is among them: an expiry
    is replaced only by a contact at or after it, and all requests of the stream that follow are late too.
    """
    n = 0
    for i in range(begin, end):
        t, stream = times_s[i], stream_ids[i]
        fresh = t < copies.expiry_s[stream]
        row = counts[object_ids[i] if len(counts) > 1 else 0]
        row[1] += fresh
        row[2] += fresh and copies.change_s[stream] <= t
        late[n] = i
        n += not fresh
    return n
