"""The walk from contact to contact: plain loops over arrays, which `compiled` compiles as they are.

What stands here is how a stream is followed, and how what policies know is looked up in complete histories.
"""

import math

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
from bestbefore.replay.kernels.histories import Histories
from bestbefore.replay.kernels.lookup import (
    first_after,
    first_at_or_after,
    first_of_owner_after,
    set_counts,
    updates_of,
)
from bestbefore.replay.kernels.packed import Packed
from bestbefore.replay.kernels.rule import Kind, Rule
from bestbefore.replay.traces.columns import IdArray


def replay(
    times_s: FloatArray,
    firsts: NDArray[np.int64],
    object_ids: IdArray,
    begin: int,
    end: int,
    known: Histories,
    rule: Rule,
    counts: NDArray[np.int64],
    decisions: FloatArray,
    by_bin: ByBin,
) -> int:
    """Replay the streams from `begin` up to `end`.

    `times_s`, `firsts` and `object_ids` are those of `Streams`. What is counted is added to `counts`, whose columns are
    in the order of `Counts`: either to its only row, or to a row for each object from that of the first stream on.

    Only a contact that another request of its stream follows needs an expiry. Returns how many needed one; if
    `decisions` is not empty, (n, 2), the moment and the expiry of each are written there. `by_bin` is written over.
    """
    decided = 0
    for stream in range(begin, end):
        object_ = object_ids[stream]
        here, stop = firsts[stream], firsts[stream + 1]
        first, last = updates_of(known.objects, known.history_of[object_])
        seen = first_after(known.objects.times_s, first, last, times_s[here])
        row = counts[object_ - object_ids[begin] if len(counts) > 1 else 0]
        row[0] += 1
        decided += follow(
            times_s, here, stop, object_, seen, math.nan, False, known, rule, row, decisions[decided:], by_bin  # noqa: FBT003
        )
    return decided


def follow(
    times_s: FloatArray,
    here: int,
    stop: int,
    object_: int,
    seen: int,
    interval_s: float,
    changed: bool,
    known: Histories,
    rule: Rule,
    row: NDArray[np.int64],
    decisions: FloatArray,
    by_bin: ByBin,
) -> int:
    """Replay a stream from a contact, the request `here`, to its end, `stop`.

    The object's first update after the contact is `seen`; whether the contact found it `changed`, and the last
    `interval_s`, are asked for where the rule keeps one. The rest is that of `replay`, but that `row` is counted to.
    """
    updates_s = known.objects.times_s
    last = known.objects.firsts[known.history_of[object_] + 1]
    decided = 0
    while here + 1 < stop:
        t = times_s[here]
        if rule.keeps_interval:
            first = known.objects.firsts[known.history_of[object_]]
            unchanged_s = 0.0 if changed or seen == first or rule.sync == 0.0 else t - updates_s[seen - 1]
            interval_s = next_interval_s(rule, interval_s, changed, unchanged_s)
            expiry = nutch_expiry_s(t, interval_s, unchanged_s, rule.sync)
            expiry = bounded_s(expiry, t, rule.min_ttl_s, rule.max_ttl_s)
        else:
            expiry = expiry_s(rule, known, object_, seen, t, by_bin)
        if len(decisions):
            decisions[decided, 0] = t
            decisions[decided, 1] = expiry
        decided += 1
        there = first_at_or_after(times_s, here + 1, stop, expiry)
        change_s = updates_s[seen] if seen < last else math.inf
        hits = there - here - 1
        row[1] += hits
        if hits and change_s <= times_s[there - 1]:
            row[2] += there - first_at_or_after(times_s, here + 1, there, change_s)
        if there < stop:
            row[3] += 1
            changed = change_s <= times_s[there]
            if changed:
                seen = first_after(updates_s, seen, last, times_s[there])
            else:
                row[4] += 1
        here = there
    return decided


def expiry_s(rule: Rule, known: Histories, object_: int, seen: int, t: float, by_bin: ByBin) -> float:
    """The expiry at t of a copy of an object whose first update after t is `seen`. As the `verdict` of the policies."""
    times_s = known.objects.times_s
    owner = known.history_of[object_]
    first, last = updates_of(known.objects, owner)
    last_s = times_s[seen - 1] if seen > first else known.since_s
    after_s = t - rule.history_window_s
    since_s = max(known.since_s, after_s)
    counted = first_after(times_s, first, seen, after_s)
    updates = seen - counted
    is_little_known = rule.falls_back and updates < ENOUGH_UPDATES
    group = known.group_of[object_]
    group_counted = group_seen = 0
    if rule.kind == Kind.AGGHIST or rule.kind == Kind.INDAGG or is_little_known:
        group_counted = first_of_owner_after(known.groups, group, after_s)
        group_seen = first_of_owner_after(known.groups, group, t)
    kind = rule.kind
    if is_little_known:
        kind = fallback_kind(rule, seen > first, group_seen - group_counted, since_s < t)
    elif kind == Kind.INDAGG:
        set_counts(by_bin.counts, known.objects, owner, counted, since_s, seen, t)
        kind = indagg_kind(rule, updates, by_bin)
    elif kind == Kind.INDTTL:
        kind = Kind.TTL if is_in_burst(rule, known.objects, owner, counted, seen, since_s, t, by_bin) else Kind.INDHIST
    if kind == Kind.INDHIST:
        set_counts(by_bin.counts, known.objects, owner, counted, since_s, seen, t)
        expiry = individual_expiry_s(rule, since_s, t, by_bin)
    elif kind == Kind.AGGHIST or kind == Kind.FALLBACK_GROUP:
        set_counts(by_bin.counts, known.groups, group, group_counted, since_s, group_seen, t)
        hours, member_hours = (t - since_s) / HOUR_S, known.members[group] * (t - since_s) / HOUR_S
        group_updates = group_seen - group_counted
        expiry = group_expiry_s(rule, kind, updates, hours, group_updates, since_s, member_hours, t, by_bin)
    elif kind == Kind.ORACLE:
        expiry = times_s[seen] if seen < last else math.inf
    else:
        in_week = seen - first_after(times_s, first, seen, t - WEEK_S) if kind == Kind.MINIFLUX else 0
        expiry = simple_expiry_s(rule, kind, last_s, seen > first, in_week, t)
    return bounded_s(expiry, t, rule.min_ttl_s, rule.max_ttl_s)


def is_in_burst(
    rule: Rule, updates: Packed, owner: int, counted: int, seen: int, since_s: float, t: float, by_bin: ByBin
) -> bool:
    """As `IndTtl`."""
    if rule.threshold == math.inf:
        return False
    start_s = t - rule.window_s
    start = first_after(updates.times_s, updates.firsts[owner], seen, start_s)
    expected = 0.0
    if seen > start and start_s > since_s:  # of nothing seen it does not matter what was expected
        set_counts(by_bin.counts, updates, owner, counted, since_s, start, start_s)
        expected = expected_after(by_bin, since_s, start_s, t, rule.least_exposure_h)
    return in_burst(seen - start, expected, rule.threshold)
