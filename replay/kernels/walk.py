"""The walk from contact to contact: plain loops over arrays, which `compiled` compiles as they are.

The formulas are the policies' own functions. What stands here is how updates are counted in arrays, which `History` and
`Group` do live, and which formula decides, which the classes of the policies say readably. Nothing is allocated on the
way: a list for each formula would cost more than the formula does.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import BINS, HOUR_S, FloatArray
from bestbefore.policies.models.intensity import (
    HOURLY_S,
    expected_updates,
    first_passage_s,
    set_exposure_h,
    set_observed_rates_per_hour,
    set_relative_rates,
)
from bestbefore.policies.models.segmentation import log_likelihood, merge, set_segments
from bestbefore.policies.validation.aimd import aimd_interval_s
from bestbefore.policies.validation.bounds import ENOUGH_UPDATES, bounded_s
from bestbefore.policies.validation.fallback import GROUP_LEAST_UPDATES, member_rate_per_hour
from bestbefore.policies.validation.indagg import follows_group
from bestbefore.policies.validation.indttl import in_burst
from bestbefore.policies.validation.miniflux import WEEK_S, miniflux_interval_s
from bestbefore.policies.validation.nutch import nutch_expiry_s, nutch_interval_s
from bestbefore.policies.validation.squid import squid_ttl_s
from bestbefore.policies.validation.stormcrawler import stormcrawler_interval_s
from bestbefore.policies.validation.ttl import ttl_expiry_s
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

EDGES_S: Any = np.array(HOURLY_S)
"""An array, which compiled code finds its way in faster than in a tuple."""
FORMULAS = (
    aimd_interval_s, bounded_s, expected_updates, first_passage_s, follows_group, in_burst, log_likelihood,
    member_rate_per_hour, merge, miniflux_interval_s, nutch_expiry_s, nutch_interval_s, set_exposure_h,
    set_observed_rates_per_hour, set_relative_rates, set_segments, squid_ttl_s, stormcrawler_interval_s, ttl_expiry_s,
)
"""What is compiled beside the functions of this file."""


class ByBin(NamedTuple):
    """Where what is found by hour bin at a contact is put: arrays, as good to the formulas as lists."""

    counts: Any
    """(24,) of int64."""
    hours: Any
    """(24,) of float64, as `rates`."""
    rates: Any
    segments: Any
    """(25,) of int64, as `begins`; these are written by `set_segments`."""
    begins: Any
    worths: Any
    """(25,) of float64, as `edges_s`."""
    edges_s: Any

    @classmethod
    def empty(cls) -> Self:
        ints = [np.empty(n, dtype=np.int64) for n in (BINS, BINS + 1, BINS + 1)]
        floats = [np.empty(n) for n in (BINS, BINS, BINS + 1, BINS + 1)]
        return cls(ints[0], floats[0], floats[1], ints[1], ints[2], floats[2], floats[3])


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


def next_interval_s(rule: Rule, interval_s: float, changed: bool, unchanged_s: float) -> float:
    """By a rule that keeps an interval: the one after `interval_s`, NaN for the first."""
    if rule.kind == Kind.NUTCH:
        return nutch_interval_s(
            interval_s, changed, unchanged_s, rule.interval_s, rule.increase, rule.decrease, rule.min_s, rule.max_s
        )
    if rule.kind == Kind.STORMCRAWLER:
        return stormcrawler_interval_s(
            interval_s, changed, rule.interval_s, rule.increase, rule.decrease, rule.min_s, rule.max_s
        )
    return aimd_interval_s(interval_s, changed, rule.step_s, rule.factor, rule.min_s, rule.max_s)


def expiry_s(rule: Rule, known: Histories, object_: int, seen: int, t: float, by_bin: ByBin) -> float:
    """The expiry at t of a copy of an object whose first update after t is `seen`. As the `verdict` of the policies."""
    times_s = known.objects.times_s
    owner = known.history_of[object_]
    first, last = updates_of(known.objects, owner)
    last_s = times_s[seen - 1] if seen > first else known.since_s
    after_s = t - rule.history_window_s
    since_s = max(known.since_s, after_s)
    counted = first_after(times_s, first, seen, after_s)
    group = known.group_of[object_]
    group_counted = group_seen = 0
    if rule.kind == Kind.AGGHIST or rule.kind == Kind.INDAGG or (rule.falls_back and seen - counted < ENOUGH_UPDATES):
        group_counted = first_of_owner_after(known.groups, group, after_s)
        group_seen = first_of_owner_after(known.groups, group, t)
    kind = rule.kind
    if rule.falls_back or kind == Kind.INDAGG or kind == Kind.INDTTL:
        group_updates = group_seen - group_counted
        kind = deciding_kind(rule, known.objects, owner, counted, seen, group_updates, since_s, t, by_bin)
    if kind == Kind.TTL:
        expiry = ttl_expiry_s(last_s, t, rule.alpha)
    elif kind == Kind.INDHIST:
        set_rates_by_bin(by_bin, known.objects, owner, counted, seen, since_s, t, rule.least_exposure_h)
        expiry = first_passage_s(EDGES_S, by_bin.rates, t, rule.theta)
    elif kind == Kind.AGGHIST or kind == Kind.FALLBACK_GROUP:
        expiry = group_expiry_s(
            rule, kind, seen - counted, known.groups, group, group_counted, group_seen, known.members[group], since_s,
            t, by_bin,
        )
    else:
        expiry = simple_expiry_s(rule, kind, times_s, first, seen, last, last_s, t)
    return bounded_s(expiry, t, rule.min_ttl_s, rule.max_ttl_s)


def deciding_kind(
    rule: Rule,
    updates: Packed,
    owner: int,
    counted: int,
    seen: int,
    group_updates: int,
    since_s: float,
    t: float,
    by_bin: ByBin,
) -> Kind:
    """Which rule decides, where more than one may."""
    first = updates.firsts[owner]
    if rule.falls_back and seen - counted < ENOUGH_UPDATES:
        for kind in (rule.first, rule.second):
            if kind == Kind.FALLBACK_TTL and seen > first:
                return kind
            if kind == Kind.FALLBACK_GROUP and group_updates >= GROUP_LEAST_UPDATES and since_s < t:
                return kind
        return Kind.BOOTSTRAP
    if rule.kind == Kind.INDAGG:
        set_counts(by_bin.counts, updates, owner, counted, since_s, seen, t)
        bins = 0
        for count in by_bin.counts:
            bins += count > 0
        return Kind.AGGHIST if follows_group(bins, seen - counted, rule.threshold) else Kind.INDHIST
    if rule.kind == Kind.INDTTL:
        return Kind.TTL if is_in_burst(rule, updates, owner, counted, seen, since_s, t, by_bin) else Kind.INDHIST
    return rule.kind


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
        set_rates_by_bin(by_bin, updates, owner, counted, start, since_s, start_s, rule.least_exposure_h)
        set_exposure_h(by_bin.hours, EDGES_S, start_s, t)
        expected = expected_updates(by_bin.rates, by_bin.hours)
    return in_burst(seen - start, expected, rule.threshold)


def simple_expiry_s(
    rule: Rule, kind: Kind, times_s: FloatArray, first: int, seen: int, last: int, last_s: float, t: float
) -> float:
    """By a rule that takes no rates by hour bin, the last update being at `last_s`."""
    if kind == Kind.FALLBACK_TTL:
        return ttl_expiry_s(last_s, t, rule.fallback_alpha)
    if kind == Kind.BOOTSTRAP:
        return t + rule.bootstrap_s
    if kind == Kind.INTERVAL:
        return t + rule.interval_s
    if kind == Kind.ORACLE:
        return times_s[seen] if seen < last else math.inf
    if kind == Kind.SQUID:
        return t + squid_ttl_s(t - last_s if seen > first else 0.0, rule.min_s, rule.factor, rule.max_s)
    in_week = seen - first_after(times_s, first, seen, t - WEEK_S)
    return t + miniflux_interval_s(in_week, rule.factor, rule.min_s, rule.max_s)


def group_expiry_s(
    rule: Rule,
    kind: Kind,
    updates: int,
    groups: Packed,
    group: int,
    counted: int,
    seen: int,
    members: int,
    since_s: float,
    t: float,
    by_bin: ByBin,
) -> float:
    """As `AggHist` or `GroupMember`, for an object with so many counted updates. Those of its group are from `counted`
    up to `seen`.
    """
    hours = (t - since_s) / HOUR_S
    if kind == Kind.FALLBACK_GROUP:
        rate_per_hour = member_rate_per_hour(updates, hours, seen - counted, members * (t - since_s) / HOUR_S)
        theta = rule.fallback_theta / rate_per_hour
    elif updates == 0 or hours <= 0.0:
        return math.inf
    else:
        theta = rule.theta / (updates / hours)
    set_exposure_h(by_bin.hours, EDGES_S, since_s, t)
    set_counts(by_bin.counts, groups, group, counted, since_s, seen, t)
    mean_per_hour = (seen - counted) / hours
    if kind == Kind.AGGHIST and rule.segment_penalty > 0.0:
        n = join_bins(by_bin, rule.segment_penalty * math.log(seen - counted))
        rates = by_bin.rates[:n]
        set_relative_rates(rates, by_bin.counts[:n], by_bin.hours[:n], mean_per_hour, rule.least_exposure_h)
        return first_passage_s(by_bin.edges_s, rates, t, theta)
    set_relative_rates(by_bin.rates, by_bin.counts, by_bin.hours, mean_per_hour, rule.least_exposure_h)
    return first_passage_s(EDGES_S, by_bin.rates, t, theta)


def join_bins(by_bin: ByBin, penalty: float) -> int:
    """Join what is counted by hour bin to the segments that are worth `penalty` each, and return how many they are."""
    segments = set_segments(by_bin.segments, by_bin.begins, by_bin.worths, by_bin.counts, by_bin.hours, penalty)
    merge(by_bin.counts, by_bin.segments, segments)
    merge(by_bin.hours, by_bin.segments, segments)
    for i in range(segments + 1):
        by_bin.edges_s[i] = EDGES_S[by_bin.segments[i]]
    return segments


def set_rates_by_bin(
    by_bin: ByBin,
    updates: Packed,
    owner: int,
    start: int,
    end: int,
    since_s: float,
    until_s: float,
    least_exposure_h: float,
) -> None:
    """As `individual_rates_per_hour`, from the updates from `start` up to `end`."""
    set_exposure_h(by_bin.hours, EDGES_S, since_s, until_s)
    set_counts(by_bin.counts, updates, owner, start, since_s, end, until_s)
    set_observed_rates_per_hour(by_bin.rates, by_bin.counts, by_bin.hours, least_exposure_h)
