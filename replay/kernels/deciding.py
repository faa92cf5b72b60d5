"""Which formula decides, given what a kernel has looked up: the same for complete and for observed histories.

The formulas are the policies' own functions, and the classes of the policies say readably which of them decides. The
kernels look up what is known, each in its own arrays, which `History` and `Group` do live. Nothing is allocated on the
way: a list for each formula would cost more than the formula does. Compiled as it is: see `walk`.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from bestbefore.policies.models.history import BINS, HOUR_S
from bestbefore.policies.models.intensity import (
    HOURLY_S,
    expected_updates,
    first_passage_s,
    set_exposure_h,
    set_observed_rates_per_hour,
    set_relative_rates,
)
from bestbefore.policies.models.segmentation import log_likelihood, merge, set_segments
from bestbefore.policies.validation.baselines.aimd import aimd_interval_s
from bestbefore.policies.validation.baselines.miniflux import miniflux_interval_s
from bestbefore.policies.validation.baselines.nutch import nutch_expiry_s, nutch_interval_s
from bestbefore.policies.validation.baselines.squid import squid_ttl_s
from bestbefore.policies.validation.baselines.stormcrawler import stormcrawler_interval_s
from bestbefore.policies.validation.machinery.bounds import bounded_s
from bestbefore.policies.validation.machinery.fallback import GROUP_LEAST_UPDATES, member_rate_per_hour
from bestbefore.policies.validation.rules.indagg import follows_group
from bestbefore.policies.validation.rules.indttl import in_burst
from bestbefore.policies.validation.rules.ttl import ttl_expiry_s
from bestbefore.replay.kernels.rule import Kind, Rule

FORMULAS = (
    aimd_interval_s, bounded_s, expected_updates, first_passage_s, follows_group, in_burst, log_likelihood,
    member_rate_per_hour, merge, miniflux_interval_s, nutch_expiry_s, nutch_interval_s, set_exposure_h,
    set_observed_rates_per_hour, set_relative_rates, set_segments, squid_ttl_s, stormcrawler_interval_s, ttl_expiry_s,
)
"""What is compiled beside the functions of this file."""


class ByBin(NamedTuple):
    """Where a decision puts what it finds by hour bin: arrays or lists."""

    hourly_s: Any
    """(25,) the edges of the hour bins, which nobody writes to."""
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
    """Those of the segments."""

    @classmethod
    def empty(cls) -> Self:
        """With room in which nothing has been put yet."""
        ints = [np.empty(n, dtype=np.int64) for n in (BINS, BINS + 1, BINS + 1)]
        floats = [np.empty(n) for n in (BINS, BINS, BINS + 1, BINS + 1)]
        return cls(np.array(HOURLY_S), ints[0], floats[0], floats[1], ints[1], ints[2], floats[2], floats[3])


def fallback_kind(rule: Rule, knows_update: bool, group_updates: int, observed: bool) -> Kind:
    """What decides while hardly any update of an object is counted: the first fallback that applies. As `Bounded`.

    It is asked whether any update of the object is known at all, counted or not, how many of its group are counted, and
    whether there was time to observe those.
    """
    for kind in (rule.first, rule.second):
        if kind == Kind.FALLBACK_TTL and knows_update:
            return kind
        if kind == Kind.FALLBACK_GROUP and group_updates >= GROUP_LEAST_UPDATES and observed:
            return kind
    return Kind.BOOTSTRAP


def indagg_kind(rule: Rule, updates: int, by_bin: ByBin) -> Kind:
    """As `IndAgg`, for an object with so many counted updates, whose counts are in `by_bin`."""
    bins = 0
    for count in by_bin.counts:
        bins += count > 0
    return Kind.AGGHIST if follows_group(bins, updates, rule.threshold) else Kind.INDHIST


def simple_expiry_s(rule: Rule, kind: Kind, last_s: float, knows_update: bool, in_week: int, t: float) -> float:
    """The expiry at t by a rule that takes no rates by hour bin, `in_week` of the updates being of the last week.

    `last_s` is the time of the last update, or t_0 where none is known.
    """
    if kind == Kind.TTL:
        return ttl_expiry_s(last_s, t, rule.alpha)
    if kind == Kind.FALLBACK_TTL:
        return ttl_expiry_s(last_s, t, rule.fallback_alpha)
    if kind == Kind.BOOTSTRAP:
        return t + rule.bootstrap_s
    if kind == Kind.INTERVAL:
        return t + rule.interval_s
    if kind == Kind.SQUID:
        return t + squid_ttl_s(t - last_s if knows_update else 0.0, rule.min_s, rule.factor, rule.max_s)
    return t + miniflux_interval_s(in_week, rule.factor, rule.min_s, rule.max_s)


def individual_expiry_s(rule: Rule, since_s: float, t: float, by_bin: ByBin) -> float:
    """As `IndHist`, for an object whose updates since then have their counts in `by_bin`."""
    set_rates_by_bin(by_bin, since_s, t, rule.least_exposure_h)
    return first_passage_s(by_bin.hourly_s, by_bin.rates, t, rule.theta)


def group_expiry_s(
    rule: Rule,
    kind: Kind,
    updates: int,
    hours: float,
    group_updates: int,
    group_since_s: float,
    member_hours: float,
    t: float,
    by_bin: ByBin,
) -> float:
    """As `AggHist` or `GroupMember`, for an object with so many counted updates in so many hours.

    Those of its group since `group_since_s` have their counts in `by_bin`; `member_hours` is asked for by the latter.
    """
    if kind == Kind.FALLBACK_GROUP:
        theta = rule.fallback_theta / member_rate_per_hour(updates, hours, group_updates, member_hours)
    elif updates == 0 or hours <= 0.0 or group_updates == 0 or group_since_s >= t:
        return math.inf
    else:
        theta = rule.theta / (updates / hours)
    set_exposure_h(by_bin.hours, by_bin.hourly_s, group_since_s, t)
    mean_per_hour = group_updates / ((t - group_since_s) / HOUR_S)
    if kind == Kind.AGGHIST and rule.segment_penalty > 0.0:
        n = join_bins(by_bin, rule.segment_penalty * math.log(group_updates))
        rates = by_bin.rates[:n]
        set_relative_rates(rates, by_bin.counts[:n], by_bin.hours[:n], mean_per_hour, rule.least_exposure_h)
        return first_passage_s(by_bin.edges_s, rates, t, theta)
    set_relative_rates(by_bin.rates, by_bin.counts, by_bin.hours, mean_per_hour, rule.least_exposure_h)
    return first_passage_s(by_bin.hourly_s, by_bin.rates, t, theta)


def join_bins(by_bin: ByBin, penalty: float) -> int:
    """Join what is counted by hour bin to the segments that are worth `penalty` each, and return how many they are."""
    segments = set_segments(by_bin.segments, by_bin.begins, by_bin.worths, by_bin.counts, by_bin.hours, penalty)
    merge(by_bin.counts, by_bin.segments, segments)
    merge(by_bin.hours, by_bin.segments, segments)
    for i in range(segments + 1):
        by_bin.edges_s[i] = by_bin.hourly_s[by_bin.segments[i]]
    return segments


def expected_after(by_bin: ByBin, since_s: float, start_s: float, t: float, least_exposure_h: float) -> float:
    """The updates that are expected in (start_s, t] by those since `since_s` up to `start_s`, counted in `by_bin`."""
    set_rates_by_bin(by_bin, since_s, start_s, least_exposure_h)
    set_exposure_h(by_bin.hours, by_bin.hourly_s, start_s, t)
    return expected_updates(by_bin.rates, by_bin.hours)


def set_rates_by_bin(by_bin: ByBin, since_s: float, until_s: float, least_exposure_h: float) -> None:
    """As `individual_rates_per_hour`, from the counts in `by_bin` of the updates since then."""
    set_exposure_h(by_bin.hours, by_bin.hourly_s, since_s, until_s)
    set_observed_rates_per_hour(by_bin.rates, by_bin.counts, by_bin.hours, least_exposure_h)


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
