"""Changes of the counts of groups, by hours since the epoch, and of the rates of their members."""

from collections.abc import Iterable, Mapping

from bestbefore.addon.engine.learning import Record, RecordChange
from bestbefore.addon.engine.update import hour_of
from bestbefore.addon.store.backend.interface import GroupCounts
from bestbefore.addon.store.backend.keys import label_of
from bestbefore.policies.models.member_rates import NO_RATES, MemberRates

NO_COUNTS = GroupCounts({}, {})

type Gains = Mapping[str, GroupCounts]
"""Changes of counts, by label."""


def gains_of(before: Record | None, learnt: RecordChange) -> Gains:
    """Return the changes of counts that a change of a record makes: an object takes its counts along to a new label."""
    label = label_of(learnt.record)
    if before is None or label_of(before) == label:
        return {label: gain_of(before, learnt)}
    return {label_of(before): loss_of(before), label: share_of(learnt.record)}


def gain_of(before: Record | None, learnt: RecordChange) -> GroupCounts:
    """Return the change of the counts that a change of a record makes under one label."""
    updates: dict[int, int] = {}
    for points, sign in ((learnt.new_updates_s, 1), (learnt.dropped_updates_s, -1)):
        for point_s in points:
            add(updates, {hour_of(point_s): sign})
    starts: dict[int, int] = {}
    for since_s, sign in ((learnt.new_since_s, 1), (learnt.dropped_since_s, -1)):
        if since_s is not None:
            add(starts, {hour_of(since_s): sign})
    rates = _rates_of(learnt.record)
    return GroupCounts(updates, starts, rates if before is None else rates.plus(_rates_of(before).negative()))


def share_of(record: Record) -> GroupCounts:
    """Return the contribution of a record to the counts."""
    if not record.counted:
        return NO_COUNTS
    updates = dict(record.folded)
    for update in record.updates:
        add(updates, {hour_of(update.point_s): 1})
    return GroupCounts(updates, {hour_of(record.since_s): 1}, _rates_of(record))


def loss_of(record: Record) -> GroupCounts:
    """Return the change of the counts when a record is removed: the negative of its contribution."""
    share = share_of(record)
    return GroupCounts(
        {hour: -n for hour, n in share.updates.items()},
        {hour: -n for hour, n in share.starts.items()},
        share.rates.negative(),
    )


def _rates_of(record: Record) -> MemberRates:
    micronats = record.interval_micronats
    return NO_RATES if micronats is None else MemberRates(1, micronats)


def total(gains: Iterable[GroupCounts]) -> GroupCounts:
    """Return the sum of counts, hour by hour."""
    updates: dict[int, int] = {}
    starts: dict[int, int] = {}
    rates = NO_RATES
    for gain in gains:
        add(updates, gain.updates)
        add(starts, gain.starts)
        rates = rates.plus(gain.rates)
    return GroupCounts(updates, starts, rates)


def total_by_label(gains: Iterable[Gains]) -> Gains:
    """Return the sum of changes, label by label."""
    parts: dict[str, list[GroupCounts]] = {}
    for changes in gains:
        for label, gain in changes.items():
            parts.setdefault(label, []).append(gain)
    return {label: total(of_label) for label, of_label in parts.items()}


def add(counts: dict[int, int], gain: Mapping[int, int]) -> None:
    """Add to counts; remove those that become 0."""
    for hour, n in gain.items():
        left = counts.get(hour, 0) + n
        if left:
            counts[hour] = left
        else:
            counts.pop(hour, None)
