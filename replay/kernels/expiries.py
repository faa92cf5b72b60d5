"""The expiries of many contacts at once, by numpy: twin of `walk.expiry_s`.

Arrays by hour bin are (24, n), for n contacts.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import HOUR_S, FloatArray
from bestbefore.policies.models.intensity import TOLERANCE
from bestbefore.policies.validation.baselines.miniflux import WEEK_S
from bestbefore.policies.validation.machinery.bounds import ENOUGH_UPDATES
from bestbefore.policies.validation.machinery.fallback import GROUP_LEAST_UPDATES, member_rate_per_hour
from bestbefore.policies.validation.rules.ttl import ttl_expiry_s
from bestbefore.replay.kernels import deciding, lookup
from bestbefore.replay.kernels.histories import Histories
from bestbefore.replay.kernels.intensity_vectorised import (
    expected_updates,
    exposure_h,
    first_passage_s,
    observed_rates_per_hour,
)
from bestbefore.replay.kernels.lookup_vectorised import (
    IndexArray,
    count_by_bin,
    first_after,
    first_after_near_end,
    first_of_owner_after,
)
from bestbefore.replay.kernels.packed import Packed
from bestbefore.replay.kernels.rule import Kind, Rule
from bestbefore.replay.traces.columns import IdArray

CONTACTS_AT_ONCE = 2048
"""Their arrays by hour bin together fit into a processor's cache."""
_ArrayFormula = Callable[..., FloatArray]
# These formulas are arithmetic alone, and take arrays as well.
_ttl_expiries_s = cast("_ArrayFormula", ttl_expiry_s)
_member_rates_per_hour = cast("_ArrayFormula", member_rate_per_hour)


def expiries_s(rule: Rule, known: Histories, object_ids: IdArray, seen: IndexArray, t: FloatArray) -> FloatArray:
    """(n,) the expiry at t of a copy of each object, whose first update after t is `seen`."""
    expiries = np.empty(len(t))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for start in range(0, len(t), CONTACTS_AT_ONCE):
            part = slice(start, start + CONTACTS_AT_ONCE)
            contacts = Contacts.of(rule, known, object_ids[part], seen[part], t[part])
            kinds = _deciding_kinds(rule, known, contacts)
            for kind in np.unique(kinds).tolist():
                chosen = kinds == kind
                expiries[part][chosen] = _expiries_by(rule, known, Kind(kind), contacts.where(chosen))
        bound(rule, expiries, t)
    return expiries


def bound(rule: Rule, expiries_s: FloatArray, t: FloatArray) -> None:
    """Bound expiries at t: twin of `bounds.bounded_s`."""
    ttl_s = expiries_s - t
    np.copyto(expiries_s, t + rule.min_ttl_s, where=ttl_s < rule.min_ttl_s)
    np.copyto(expiries_s, t + rule.max_ttl_s, where=ttl_s > rule.max_ttl_s)


class Contacts(NamedTuple):
    """What is known at contacts; a number of an update is its place in the arrays of `Packed`."""

    t: FloatArray
    since_s: FloatArray
    """From when on updates are counted."""
    owner: IdArray
    """Whose updates in `objects` those of the object are."""
    first: IndexArray
    """The first update of the object."""
    counted: IndexArray
    """Its first that is counted."""
    seen: IndexArray
    """Its first after t."""
    last: IndexArray
    """The first update of the next object."""
    last_s: FloatArray
    """The time of the update before that, or t_0."""
    group_counted: IndexArray
    group_seen: IndexArray
    """The same of the group; equal where no rule looks at it."""
    group: IdArray

    @classmethod
    def of(cls, rule: Rule, known: Histories, object_ids: IdArray, seen: IndexArray, t: FloatArray) -> Self:
        """Contacts of these objects at t, where the first update after t is `seen`."""
        owners, groups = known.history_of[object_ids], known.group_of[object_ids]
        updates_s, first = known.objects.times_s, known.objects.firsts[owners]
        after_s = t - rule.history_window_s
        counted = first if rule.history_window_s == math.inf else first_after(updates_s, first, seen, after_s)
        group_counted, group_seen = np.zeros_like(seen), np.zeros_like(seen)
        if rule.needs_groups:
            always = rule.kind in (Kind.AGGHIST, Kind.INDAGG)
            asked = np.flatnonzero(always | (seen - counted < ENOUGH_UPDATES))
            group_counted[asked] = first_of_owner_after(known.groups, groups[asked], after_s[asked])
            group_seen[asked] = first_of_owner_after(known.groups, groups[asked], t[asked])
        return cls(
            t,
            np.maximum(known.since_s, after_s),
            owners,
            first,
            counted,
            seen,
            known.objects.firsts[owners + 1],
            np.where(seen > first, updates_s[seen - 1], known.since_s),
            group_counted,
            group_seen,
            groups,
        )

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """Those that are chosen."""
        return self if chosen.all() else type(self)._make(column[chosen] for column in self)

    @property
    def updates(self) -> IndexArray:
        """How many of the object's are counted."""
        return self.seen - self.counted


def _deciding_kinds(rule: Rule, known: Histories, c: Contacts) -> NDArray[np.int8]:
    """As `deciding.fallback_kind`, and which kind decides where none of these does."""
    few = c.updates < (ENOUGH_UPDATES if rule.falls_back else 0)
    kinds = np.full(len(c.t), Kind.BOOTSTRAP, dtype=np.int8)
    kinds[~few] = _kinds_of_rule(rule, known, c.where(~few))
    for kind in (rule.second, rule.first):
        if kind is Kind.FALLBACK_TTL:
            kinds[few & (c.seen > c.first)] = kind
        elif kind is Kind.FALLBACK_GROUP:
            kinds[few & (c.group_seen - c.group_counted >= GROUP_LEAST_UPDATES) & (c.since_s < c.t)] = kind
    return kinds


def _kinds_of_rule(rule: Rule, known: Histories, c: Contacts) -> NDArray[np.int8]:
    """Where no fallback decides."""
    if rule.kind is Kind.INDAGG:
        bins = np.count_nonzero(count_by_bin(known.objects, c.owner, c.counted, c.since_s, c.seen, c.t), axis=0)
        follows_group = (c.updates == 0) | (bins / c.updates > rule.threshold)
        return np.where(follows_group, Kind.AGGHIST, Kind.INDHIST).astype(np.int8)
    if rule.kind is Kind.INDTTL:
        return np.where(_are_in_burst(rule, known, c), Kind.TTL, Kind.INDHIST).astype(np.int8)
    return np.full(len(c.t), rule.kind, dtype=np.int8)


def _are_in_burst(rule: Rule, known: Histories, c: Contacts) -> NDArray[np.bool_]:
    """Twin of `walk.is_in_burst`."""
    if rule.threshold == math.inf:
        return np.zeros(len(c.t), dtype=bool)
    start_s = c.t - rule.window_s
    start = first_after_near_end(known.objects.times_s, c.first, c.seen, start_s)
    seen = c.seen - start
    ratio = np.where(seen > 0, rule.threshold, 0.0)
    past = np.flatnonzero((seen > 0) & (start_s > c.since_s))  # of nothing seen it does not matter what was expected
    rates = rates_by_bin(
        known.objects, c.owner[past], c.counted[past], c.since_s[past], start[past], start_s[past],
        rule.least_exposure_h,
    )
    expected = expected_updates(rates, exposure_h(start_s[past], c.t[past]))
    ratio[past] = np.where(expected > 0.0, seen[past] / expected, ratio[past])
    return ratio >= rule.threshold * (1.0 - TOLERANCE)


def _expiries_by(rule: Rule, known: Histories, kind: Kind, c: Contacts) -> FloatArray:
    """By the rule that decides."""
    match kind:
        case Kind.TTL:
            return _ttl_expiries_s(c.last_s, c.t, rule.alpha)
        case Kind.FALLBACK_TTL:
            return _ttl_expiries_s(c.last_s, c.t, rule.fallback_alpha)
        case Kind.INDHIST:
            rates = rates_by_bin(
                known.objects, c.owner, c.counted, c.since_s, c.seen, c.t, rule.least_exposure_h
            )
            return first_passage_s(rates, c.t, np.full(len(c.t), rule.theta))
        case Kind.AGGHIST | Kind.FALLBACK_GROUP:
            return _group_expiries_s(rule, known, kind, c)
        case Kind.BOOTSTRAP:
            return c.t + rule.bootstrap_s
        case Kind.INTERVAL:
            return c.t + rule.interval_s
        case Kind.ORACLE:
            return np.where(c.seen < c.last, known.objects.times_s[c.seen], math.inf)
        case Kind.SQUID:
            age_s = np.where(c.seen > c.first, c.t - c.last_s, 0.0)
            return c.t + np.minimum(np.where(age_s == 0.0, rule.min_s, rule.factor / 100 * age_s), rule.max_s)
        case _:
            polls = (c.seen - first_after(known.objects.times_s, c.first, c.seen, c.t - WEEK_S)) * rule.factor
            interval_s = np.where(polls > 0.0, np.maximum(WEEK_S / polls, rule.min_s), rule.max_s)
            return c.t + np.minimum(interval_s, rule.max_s)


def _group_expiries_s(rule: Rule, known: Histories, kind: Kind, c: Contacts) -> FloatArray:
    """Twin of `deciding.group_expiry_s`."""
    hours = (c.t - c.since_s) / HOUR_S
    group_updates = c.group_seen - c.group_counted
    if kind is Kind.FALLBACK_GROUP:
        member_hours = known.members[c.group] * (c.t - c.since_s) / HOUR_S
        theta = rule.fallback_theta / _member_rates_per_hour(c.updates, hours, group_updates, member_hours)
    else:
        theta = rule.theta / (c.updates / hours)
    expiries = np.full(len(c.t), math.inf)
    some = (c.updates > 0) & (hours > 0.0) | (kind is Kind.FALLBACK_GROUP)
    if kind is Kind.AGGHIST and rule.segment_penalty > 0.0:  # the way to segments is long for each contact
        by_bin = deciding.ByBin.empty()
        for i in np.flatnonzero(some):
            since_s, group_seen, t = c.since_s[i], c.group_seen[i], c.t[i]
            lookup.set_counts(by_bin.counts, known.groups, c.group[i], c.group_counted[i], since_s, group_seen, t)
            expiries[i] = deciding.group_expiry_s(
                rule, kind, c.updates[i], hours[i], group_updates[i], since_s, 0.0, t, by_bin
            )
        return expiries
    c, hours, theta = c.where(some), hours[some], theta[some]
    pattern = rates_by_bin(
        known.groups, c.group, c.group_counted, c.since_s, c.group_seen, c.t, rule.least_exposure_h
    )
    pattern /= (c.group_seen - c.group_counted) / hours
    expiries[some] = first_passage_s(pattern, c.t, theta)
    return expiries


def rates_by_bin(
    updates: Packed,
    owners: IdArray,
    start: IndexArray,
    since_s: FloatArray,
    end: IndexArray,
    until_s: FloatArray,
    least_exposure_h: float,
) -> FloatArray:
    """Twin of `deciding.set_rates_by_bin`, from the updates of each owner from `start` up to `end`."""
    counts = count_by_bin(updates, owners, start, since_s, end, until_s)
    return observed_rates_per_hour(counts, exposure_h(since_s, until_s), least_exposure_h)
