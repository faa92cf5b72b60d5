"""Replay with observed histories: one pass over requests in order of time, as what is learnt is learnt by all caches.

The formulas are the policies' own functions, and what is known is in `learning`. What stands here is which formula
decides. Compiled as it is: see `walk`.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import HOUR_S, FloatArray
from bestbefore.policies.models.intensity import (
    HOURLY_S,
    expected_updates,
    first_passage_s,
    set_exposure_h,
    set_observed_rates_per_hour,
    set_relative_rates,
)
from bestbefore.policies.validation.bounds import ENOUGH_UPDATES, bounded_s
from bestbefore.policies.validation.fallback import GROUP_LEAST_UPDATES, member_rate_per_hour
from bestbefore.policies.validation.indagg import follows_group
from bestbefore.policies.validation.indttl import in_burst
from bestbefore.policies.validation.miniflux import WEEK_S, miniflux_interval_s
from bestbefore.policies.validation.nutch import nutch_expiry_s
from bestbefore.policies.validation.squid import squid_ttl_s
from bestbefore.policies.validation.ttl import ttl_expiry_s
from bestbefore.replay.kernels.learning import NEVER_S, Learnt, learn
from bestbefore.replay.kernels.membership import hours_observed
from bestbefore.replay.kernels.rule import Kind, Rule
from bestbefore.replay.kernels.tallies import keep_after, set_counts, take_off
from bestbefore.replay.kernels.truth import Truth
from bestbefore.replay.kernels.walk import ByBin, join_bins, next_interval_s
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


class Room(NamedTuple):
    """Where a decision has room for what it finds by hour bin, as no list can be made."""

    hourly_s: Any
    """(25,) the edges of the hour bins."""
    by_bin: ByBin

    @classmethod
    def empty(cls) -> Self:
        return cls(np.array(HOURLY_S), ByBin.empty())


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
    room: Room,
) -> int:
    """Replay requests in order of time, later than those before.

    What is counted is added to `counts`, whose columns are in the order of `Counts`: either to its only row, or to a
    row for each object. Returns at how many requests the rule decided; if `decisions` is not empty, (n, 2), the moment
    and the expiry of each are written there. `room` is written over.
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
            expiry = expiry_s(rule, truth, learnt, object_, t, room)
        expiry = bounded_s(expiry, t, rule.min_ttl_s, rule.max_ttl_s)
        seen, last = learnt.seen[object_], truth.firsts[truth.owner_of[object_] + 1]
        copies.expiry_s[stream] = expiry
        copies.change_s[stream] = truth.updates_s[seen] if seen < last else math.inf
        if len(decisions):
            decisions[decided][0] = t
            decisions[decided][1] = expiry
        decided += 1
    return decided


def expiry_s(rule: Rule, truth: Truth, learnt: Learnt, object_: int, t: float, room: Room) -> float:
    """The expiry at t, not yet bounded, of a copy of an object, contacted at t. As the `verdict` of the policies."""
    last_s, since_s = learnt.last_s[object_], learnt.since_s[object_]
    kind = rule.kind
    if kind == Kind.TTL:
        return ttl_expiry_s(since_s if last_s == NEVER_S else last_s, t, rule.alpha)
    if kind == Kind.INTERVAL:
        return t + rule.interval_s
    if kind == Kind.SQUID:
        return t + squid_ttl_s(0.0 if last_s == NEVER_S else t - last_s, rule.min_s, rule.factor, rule.max_s)
    owner = truth.owner_of[object_]
    if kind == Kind.MINIFLUX:
        keep_after(learnt.latest, learnt.updates, owner, t - WEEK_S)
        return t + miniflux_interval_s(learnt.latest.totals[owner], rule.factor, rule.min_s, rule.max_s)
    after_s = t - rule.history_window_s
    keep_after(learnt.window, learnt.updates, owner, after_s)
    updates = learnt.window.totals[owner]
    if rule.falls_back and updates < ENOUGH_UPDATES:
        return fallback_expiry_s(rule, truth, learnt, object_, t, room)
    if kind == Kind.INDAGG:
        set_counts(room.by_bin.counts, learnt.window, owner)
        bins = bins_with_update(room.by_bin.counts)
        kind = Kind.AGGHIST if follows_group(bins, updates, rule.threshold) else Kind.INDHIST
    since_s = max(since_s, after_s)
    if kind == Kind.AGGHIST:
        hours = (t - since_s) / HOUR_S
        if updates == 0 or hours <= 0.0:
            return math.inf
        return group_expiry_s(rule, learnt, truth.group_of[object_], rule.theta / (updates / hours), t, room)
    if kind == Kind.INDTTL and is_in_burst(rule, learnt, owner, since_s, t, room):
        return ttl_expiry_s(learnt.since_s[object_] if last_s == NEVER_S else last_s, t, rule.alpha)
    set_exposure_h(room.by_bin.hours, room.hourly_s, since_s, t)
    set_counts(room.by_bin.counts, learnt.window, owner)
    set_observed_rates_per_hour(room.by_bin.rates, room.by_bin.counts, room.by_bin.hours, rule.least_exposure_h)
    return first_passage_s(room.hourly_s, room.by_bin.rates, t, rule.theta)


def fallback_expiry_s(rule: Rule, truth: Truth, learnt: Learnt, object_: int, t: float, room: Room) -> float:
    """By the first fallback that applies. As `Bounded`."""
    last_s = learnt.last_s[object_]
    group = truth.group_of[object_]
    after_s = t - rule.history_window_s
    for kind in (rule.first, rule.second):
        if kind == Kind.FALLBACK_TTL and last_s != NEVER_S:
            return ttl_expiry_s(last_s, t, rule.fallback_alpha)
        if kind == Kind.FALLBACK_GROUP:
            keep_after(learnt.group_window, learnt.hours, group, after_s)
            group_updates = learnt.group_window.totals[group]
            if group_updates >= GROUP_LEAST_UPDATES and learnt.members.since_s[group] < t:
                hours = (t - max(learnt.since_s[object_], after_s)) / HOUR_S
                member_hours = hours_observed(learnt.members, group, after_s, t)
                updates = learnt.window.totals[truth.owner_of[object_]]
                rate_per_hour = member_rate_per_hour(updates, hours, group_updates, member_hours)
                return group_expiry_s(rule, learnt, group, rule.fallback_theta / rate_per_hour, t, room)
    return t + rule.bootstrap_s


def group_expiry_s(rule: Rule, learnt: Learnt, group: int, theta: float, t: float, room: Room) -> float:
    """When the pattern of a group has the mass theta. As `Group.pattern`; never, where that is none."""
    after_s = t - rule.history_window_s
    keep_after(learnt.group_window, learnt.hours, group, after_s)
    updates = learnt.group_window.totals[group]
    since_s = max(learnt.members.since_s[group], after_s)
    if updates == 0 or since_s >= t:
        return math.inf
    by_bin = room.by_bin
    set_exposure_h(by_bin.hours, room.hourly_s, since_s, t)
    set_counts(by_bin.counts, learnt.group_window, group)
    mean_per_hour = updates / ((t - since_s) / HOUR_S)
    if rule.segment_penalty > 0.0:
        n = join_bins(by_bin, rule.segment_penalty * math.log(updates))
        rates = by_bin.rates[:n]
        set_relative_rates(rates, by_bin.counts[:n], by_bin.hours[:n], mean_per_hour, rule.least_exposure_h)
        return first_passage_s(by_bin.edges_s, rates, t, theta)
    set_relative_rates(by_bin.rates, by_bin.counts, by_bin.hours, mean_per_hour, rule.least_exposure_h)
    return first_passage_s(room.hourly_s, by_bin.rates, t, theta)


def is_in_burst(rule: Rule, learnt: Learnt, owner: int, since_s: float, t: float, room: Room) -> bool:
    """As `IndTtl`, for an object whose updates are counted since then."""
    if rule.threshold == math.inf:
        return False
    start_s = t - rule.window_s
    keep_after(learnt.latest, learnt.updates, owner, start_s)
    expected = 0.0
    if start_s > since_s:
        set_counts(room.by_bin.counts, learnt.window, owner)
        take_off(room.by_bin.counts, learnt.latest, owner)
        set_exposure_h(room.by_bin.hours, room.hourly_s, since_s, start_s)
        set_observed_rates_per_hour(room.by_bin.rates, room.by_bin.counts, room.by_bin.hours, rule.least_exposure_h)
        set_exposure_h(room.by_bin.hours, room.hourly_s, start_s, t)
        expected = expected_updates(room.by_bin.rates, room.by_bin.hours)
    return in_burst(learnt.latest.totals[owner], expected, rule.threshold)


def bins_with_update(counts: NDArray[np.int64]) -> int:
    """In how many hour bins something is counted."""
    bins = 0
    for count in counts:
        bins += count > 0
    return bins
