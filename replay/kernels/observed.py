"""Replay with observed histories: one pass over requests in order of time, as what is learnt is learnt by all caches.

What is known is in `learning`. What stands here is how copies are used, and how what policies know is looked up in what
was learnt. Compiled as it is: see `walk`.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import HOUR_S, FloatArray
from bestbefore.policies.validation.baselines.miniflux import WEEK_S
from bestbefore.policies.validation.baselines.nutch import nutch_expiry_s
from bestbefore.policies.validation.machinery.bounds import ENOUGH_UPDATES, bounded_s
from bestbefore.policies.validation.rules.indttl import in_burst
from bestbefore.replay.kernels.deciding import (
    ByBin,
    expected_after,
    fallback_kind,
    group_expiry_s,
    indagg_kind,
    individual_expiry_s,
    next_interval_s,
    simple_expiry_s,
)
from bestbefore.replay.kernels.learning import NEVER_S, Learnt, learn
from bestbefore.replay.kernels.membership import hours_observed
from bestbefore.replay.kernels.rule import Kind, Rule
from bestbefore.replay.kernels.tallies import keep_after, set_counts, take_off
from bestbefore.replay.kernels.truth import Truth
from bestbefore.replay.traces.columns import IdArray

COUNTING = frozenset({Kind.INDHIST, Kind.AGGHIST, Kind.INDAGG, Kind.INDTTL, Kind.MINIFLUX})
"""The rules that look at more of a history than its beginning and its end."""


class Copies(NamedTuple):
    """The copy of each stream: of each object in each cache."""

    expiry_s: FloatArray
    """`NEVER_S` where there is no copy."""
    change_s: FloatArray
    """When the object changes next after the copy was current; infinite if it does not, or there is no copy."""
    interval_s: FloatArray
    """The last interval, for rules that make each from the one before; NaN for the first. Empty for all others."""

    @classmethod
    def none(cls, streams: int, rule: Rule) -> Self:
        """All caches are empty."""
        intervals_s = np.full(streams if rule.keeps_interval else 0, math.nan)
        return cls(np.full(streams, NEVER_S), np.full(streams, math.inf), intervals_s)


def replay(
    times_s: FloatArray,
    object_ids: IdArray,
    stream_ids: IdArray,
    copies: Copies,
    truth: Truth,
    learnt: Learnt,
    rule: Rule,
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
        if rule.keeps_interval:
            last_s = learnt.last_s[object_]
            unchanged_s = 0.0 if changed or last_s == NEVER_S or rule.sync == 0.0 else t - last_s
            interval_s = next_interval_s(rule, copies.interval_s[stream], changed, unchanged_s)
            copies.interval_s[stream] = interval_s
            expiry = nutch_expiry_s(t, interval_s, unchanged_s, rule.sync)
        else:
            expiry = expiry_s(rule, truth, learnt, object_, t, by_bin)
        expiry = bounded_s(expiry, t, rule.min_ttl_s, rule.max_ttl_s)
        seen, last = learnt.seen[object_], truth.firsts[truth.owner_of[object_] + 1]
        copies.expiry_s[stream] = expiry
        copies.change_s[stream] = truth.updates_s[seen] if seen < last else math.inf
        if len(decisions):
            decisions[decided][0] = t
            decisions[decided][1] = expiry
        decided += 1
    return decided


def expiry_s(rule: Rule, truth: Truth, learnt: Learnt, object_: int, t: float, by_bin: ByBin) -> float:
    """The expiry at t, not yet bounded, of a copy of an object, contacted at t. As the `verdict` of the policies."""
    owner, group = truth.owner_of[object_], truth.group_of[object_]
    first_s, last_s = learnt.since_s[object_], learnt.last_s[object_]
    knows_update = last_s != NEVER_S
    after_s = t - rule.history_window_s
    since_s = max(first_s, after_s)
    updates = group_updates = 0
    if learnt.counts:
        keep_after(learnt.window, learnt.updates, owner, after_s)
        updates = learnt.window.totals[owner]
    if learnt.counts_groups:
        keep_after(learnt.group_window, learnt.hours, group, after_s)
        group_updates = learnt.group_window.totals[group]
    kind = rule.kind
    if rule.falls_back and updates < ENOUGH_UPDATES:
        kind = fallback_kind(rule, knows_update, group_updates, learnt.members.since_s[group] < t)
    elif kind == Kind.INDAGG:
        set_counts(by_bin.counts, learnt.window, owner)
        kind = indagg_kind(rule, updates, by_bin)
    elif kind == Kind.INDTTL:
        kind = Kind.TTL if is_in_burst(rule, learnt, owner, since_s, t, by_bin) else Kind.INDHIST
    if kind == Kind.INDHIST:
        set_counts(by_bin.counts, learnt.window, owner)
        return individual_expiry_s(rule, since_s, t, by_bin)
    if kind == Kind.AGGHIST or kind == Kind.FALLBACK_GROUP:
        set_counts(by_bin.counts, learnt.group_window, group)
        member_hours = hours_observed(learnt.members, group, after_s, t) if kind == Kind.FALLBACK_GROUP else 0.0
        group_since_s = max(learnt.members.since_s[group], after_s)
        hours = (t - since_s) / HOUR_S
        return group_expiry_s(rule, kind, updates, hours, group_updates, group_since_s, member_hours, t, by_bin)
    in_week = 0
    if kind == Kind.MINIFLUX:
        keep_after(learnt.latest, learnt.updates, owner, t - WEEK_S)
        in_week = learnt.latest.totals[owner]
    return simple_expiry_s(rule, kind, last_s if knows_update else first_s, knows_update, in_week, t)


def is_in_burst(rule: Rule, learnt: Learnt, owner: int, since_s: float, t: float, by_bin: ByBin) -> bool:
    """As `IndTtl`, for an object whose updates are counted since then."""
    if rule.threshold == math.inf:
        return False
    start_s = t - rule.window_s
    keep_after(learnt.latest, learnt.updates, owner, start_s)
    seen = learnt.latest.totals[owner]
    expected = 0.0
    if seen and start_s > since_s:  # of nothing seen it does not matter what was expected
        set_counts(by_bin.counts, learnt.window, owner)
        take_off(by_bin.counts, learnt.latest, owner)
        expected = expected_after(by_bin, since_s, start_s, t, rule.least_exposure_h)
    return in_burst(seen, expected, rule.threshold)
