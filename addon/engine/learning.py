"""Learning: from observations to the update history of an object.

Observations are censored: a contact shows whether the object changed since the last one, and perhaps when. The record
keeps each update as it was learnt, by its exact time or an interval. The history that policies take is derived from the
record, with the exact time or else the middle of the interval (`refresh` section 7.3).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bestbefore.addon.engine.listing import Feed, FeedChange, read_first, read_next
from bestbefore.addon.engine.observation import (
    Observation,
    SiteContact,
    VariantState,
    clock_difference_s,
    compared,
    site_contact,
)
from bestbefore.addon.engine.piggyback import GroupPattern
from bestbefore.addon.engine.unvalidated.evidence import Gathered, gathered
from bestbefore.addon.engine.update import (
    TimeSpan,
    Update,
    fold,
    hour_of,
    memory_after,
    memory_of,
    merged,
    missed_before,
    points_of,
    total_s,
    with_missed,
)
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since
from bestbefore.policies.models.history import History
from bestbefore.policies.models.member_rates import log_interval_micronats
from bestbefore.policies.units import HOUR_S

DETAILED_UPDATES = 1024
"""How many updates of an object are kept individually; older ones are kept as counts per hour."""
VARIANTS_REMEMBERED = 16
"""For how many variants of an object the last fingerprint is kept; the least recently observed is removed first."""
CLOCK_STEP = 0.25
"""The part of the way by which an origin's clock that seems farther behind is followed at each contact."""
CLOCK_SKEW_S = 60.0
"""How far the clock of another proxy may be ahead before its times count as wrong."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one object: everything that is kept about it. Immutable; `observe` returns a new one."""

    url: str
    since_s: float
    """t_0: the first contact, or the start of the origin's own list of updates."""
    last_contact_s: float
    contacts: int = 1
    unchanged: int = 0
    """The number of contacts that found the object unchanged."""
    updates: tuple[Update, ...] = field(default=())
    """In ascending order of their points."""
    folded: tuple[tuple[int, int], ...] = field(default=())
    """Older updates: (hours since the epoch, count), ascending."""
    last_modified_s: float | None = None
    """The Last-Modified of the first contact, if it is earlier than the contact."""
    seen: Mapping[str, VariantState] = field(default_factory=dict)
    """The last observation of each variant."""
    counted: bool = False
    """Whether this object counts in its group: it has a validator, or the rule learns without one; and it was contacted
    twice, or its origin listed its updates. A single contact has observed no interval, and its record may expire in the
    store while no process runs that would subtract it from the group's counts."""
    feed: Feed | None = None
    """The items, if the object is a feed."""
    differed_s: float | None = None
    """When clients were last sent different content at the same time, without a validator."""
    cache_group: str = ""
    """As in the last observation (`Observation.cache_group`)."""
    hidden_s: float = 0.0
    """The total time in which further updates may have been missed: before each update of known time, the time since
    the contact before. Updates that the origin has listed add nothing, unless it says that it may have missed some."""
    unseen: tuple[TimeSpan, ...] | None = None
    """The latest intervals in which updates may have been missed, but for those that an update marks itself. None: it
    was written by a version that did not keep them."""
    memory: UpdateMemory | None = None
    """What policies remember of the updates (`hazard.memory`), with `last_modified_s`; None without any."""
    group_pattern: GroupPattern | None = None
    """The pattern of its group that the origin sent last."""
    clock_behind_s: float = 0.0
    """By how much the origin's clock is behind, as it seems: all times are by that clock then (RFC 9111 4.2.3)."""
    interval_micronats: int | None = None
    """What it contributes to the rates of its group (`member_rates`); None if nothing: it is not counted, or was last
    written by a version that did not know these rates."""

    @property
    def provisional(self) -> bool:
        """Whether the object was contacted only once: most are never requested again."""
        return self.contacts < 2 and not self.counted

    def rated(self) -> "Record":
        """Return the record with its contribution to the rates of its group, as of its last contact."""
        if not self.counted:
            return self
        updates = len(self.updates) + sum(n for _, n in self.folded)
        return replace(
            self, interval_micronats=log_interval_micronats(updates, self.last_contact_s - self.since_s)
        )

    def history(self) -> History:
        """Return the history of points, which policies take."""
        points_s = (u.point_s for u in self.updates)
        return History.of(points_s, self.since_s, self.last_modified_s, self.folded, self.memory)

    @property
    def n_updates(self) -> int:
        return len(self.updates) + sum(n for _, n in self.folded)


@dataclass(frozen=True, slots=True)
class RecordChange:
    """The change of a record by an observation: the new record, and the changes of the group's counts."""

    record: Record
    applied: bool
    """False: this observation, or a later one, was applied before; the record is unchanged."""
    changed: bool | None
    """Whether the object was found changed; None if unknown, as after a first contact."""
    new_updates_s: tuple[float, ...] = ()
    """Points to add to the group's counts: the new updates, or all updates when the object joins its group. (A folded
    update counts at the middle of its hour.)"""
    dropped_updates_s: tuple[float, ...] = ()
    """Points to subtract from the group's counts: they have moved (an interval became an exact time), or were wrong."""
    new_since_s: float | None = None
    """The t_0 to add to the group's counts: of a new member, or an earlier one of a member."""
    dropped_since_s: float | None = None
    site: SiteContact | None = None
    """None: it has shown nothing to siblings, as after a first contact, or if the time of a change is unknown."""


def observe(record: Record | None, observation: Observation) -> RecordChange:
    """Apply one observation to the record of its object.

    An observation that is not later than the last one is dropped: a response with a large Age may be older than the
    record, and a write that is repeated after a time-out must count once.
    """
    if record is None:
        shown = None if observation.listing is None else read_first(observation.listing, observation.t_s)
        return _change(_first(observation), observation, _Finding(None, shown=shown))
    if observation.t_s <= record.last_contact_s:
        return RecordChange(record, applied=False, changed=None)
    before = record.seen.get(observation.variant)
    found = _compare_feed(record, before, observation)
    known, is_feed = _gathered(before, observation), observation.listing is not None
    listed = observation.reported_since_s is not None
    if listed or found.update is None:
        missed = tuple(span for span in observation.reported_unseen if span.by_s > record.last_contact_s)
    else:
        missed = missed_before(record.updates, found.update, record.last_contact_s)
    hidden_s = 0.0 if listed else total_s(missed)
    record = replace(
        record,
        hidden_s=record.hidden_s + total_s(missed),
        unseen=with_missed(record.unseen, (*missed, *_overflow(record.feed, found.shown, observation.t_s))),
        last_contact_s=observation.t_s,
        cache_group=observation.cache_group,
        group_pattern=observation.group_pattern or record.group_pattern,
        clock_behind_s=_clock_behind_s(record.clock_behind_s, observation),
        contacts=record.contacts + 1,
        unchanged=record.unchanged + (found.changed is False),
        seen=_remember(record.seen, observation, before, known),
        feed=_without_document(record.feed, observation, unchanged=found.changed is False),
        differed_s=observation.t_s if known is not None and known.differs and not is_feed else record.differed_s,
    )
    return replace(_change(record, observation, found, hidden_s), site=site_contact(before, observation))


def until(record: Record, now_s: float) -> RecordChange:
    """Remove later times than `now_s` from a record: the clock was ahead when they were written, and was set back.

    Otherwise the object would learn nothing until the clock reached those times. A record that is ahead by at most
    `CLOCK_SKEW_S` is not changed.

    The real time of contacts with later times is unknown. The last contact becomes the latest remaining time (-inf if
    there is none), so that the current observation is later.
    """
    if record.last_contact_s <= now_s + CLOCK_SKEW_S:
        return RecordChange(record, applied=False, changed=None)
    updates = tuple(u for u in record.updates if u.by_s <= now_s)
    moments_s = [record.since_s, *(u.by_s for u in updates), *(state.t_s for state in record.seen.values())]
    last_s = max((t for t in moments_s if t <= now_s), default=-math.inf)
    kept = replace(
        record,
        since_s=min(record.since_s, now_s),
        last_contact_s=last_s,
        updates=updates,
        folded=tuple((hour, n) for hour, n in record.folded if hour < hour_of(now_s)),
        seen={name: VariantState(min(s.t_s, last_s), s.fingerprint) for name, s in record.seen.items()},
        differed_s=None if record.differed_s is None else min(record.differed_s, now_s),
        unseen=None if record.unseen is None else tuple(span for span in record.unseen if span.by_s <= now_s),
        feed=None if record.feed is None else replace(record.feed, listed_s=min(record.feed.listed_s, last_s)),
    )
    kept = replace(kept, memory=memory_of(kept.updates, kept.folded, kept.since_s, kept.last_modified_s))
    if not record.counted:
        return RecordChange(kept, applied=True, changed=None)
    moved = kept.since_s != record.since_s
    return RecordChange(
        kept.rated(),
        applied=True,
        changed=None,
        dropped_updates_s=points_of(
            tuple(u for u in record.updates if u.by_s > now_s), set(record.folded) - set(kept.folded)
        ),
        new_since_s=kept.since_s if moved else None,
        dropped_since_s=record.since_s if moved else None,
    )


def _first(observation: Observation) -> Record:
    modified_s = observation.fingerprint.last_modified_s if observation.fingerprint else None
    return Record(
        url=observation.url,
        since_s=observation.t_s,
        last_contact_s=observation.t_s,
        cache_group=observation.cache_group,
        group_pattern=observation.group_pattern,
        last_modified_s=modified_s if modified_s is not None and modified_s <= observation.t_s else None,
        seen=_remember({}, observation, None, _gathered(None, observation)),
        hidden_s=total_s(observation.reported_unseen),
        unseen=observation.reported_unseen,
        clock_behind_s=_clock_behind_s(math.inf, observation),
    )


def _clock_behind_s(before_s: float, observation: Observation) -> float:
    """Return by how much the origin's clock seems behind after another contact.

    A cache on the way that adds no Age makes it seem so too, so it is followed slowly to where it seems farther behind.
    """
    if observation.clock_ahead_s is None:
        return before_s if before_s < math.inf else 0.0
    seen_s = max(-clock_difference_s(observation.clock_ahead_s), 0.0)
    return seen_s if seen_s <= before_s else before_s + CLOCK_STEP * (seen_s - before_s)


class _Finding(NamedTuple):
    """The findings of a contact."""

    changed: bool | None
    """As `RecordChange.changed`."""
    update: Update | None = None
    """The update; None if there is none, or the postings give it."""
    shown: FeedChange | None = None
    """The postings in the document, if the object is a feed."""


def _change(record: Record, observation: Observation, found: _Finding, hidden_s: float = 0.0) -> RecordChange:
    """Add the updates found by the contact and those reported by the origin; return the change of record and group.

    `hidden_s`: the time before the update found in which further ones may have been missed.
    """
    changed, update, shown = found
    since_s = min(record.since_s, observation.t_s)  # record.since_s is later only if the clock was ahead then
    if shown is not None and shown.since_s is not None:
        since_s = min(since_s, shown.since_s)
    if observation.reported_since_s is not None:
        since_s = min(since_s, observation.reported_since_s)
    reported_from_s = since_s
    if record.folded:
        # In the last hour with folded updates, a reported update that is not earlier than the first individual one is
        # not among the folded ones.
        reported_from_s = min([(record.folded[-1][0] + 1) * HOUR_S, *(u.by_s for u in record.updates[:1])])
    postings = [Update(*span) for span in shown.postings] if shown is not None else []
    reported = [Update(t, t) for t in observation.reported_s]
    reported += [Update(after_s, min(by_s, observation.t_s)) for after_s, by_s in observation.reported_within]
    if record.feed is None:  # the first document: its postings may be updates that are in the record
        reported, postings = [*reported, *postings], []
    reported = [update for update in reported if reported_from_s <= update.by_s <= observation.t_s]
    if update is not None:  # Last-Modified counts whole seconds, and may precede t_0
        reported.append(Update(max(update.after_s, since_s), max(update.by_s, since_s)))
    updates, new, dropped = merged(record.updates, reported, postings)
    detailed, folded = fold(updates, record.folded, DETAILED_UPDATES)
    # A folded update keeps only its point.
    lost_s = sum(u.point_s - u.after_s for u in updates[: len(updates) - len(detailed)])
    listed = observation.reported_since_s is not None or (shown is not None and bool(shown.postings))
    counted = record.counted or (observation.counted and (record.contacts > 1 or listed))
    feed = record.feed if shown is None else shown.feed
    memory = record.memory
    if since_s != record.since_s or updates is not record.updates or memory is None:
        hidden_from_s = math.inf if update is None else update.by_s - hidden_s
        memory = _memory_after(record, since_s, updates, hidden_from_s) or memory_of(
            updates, record.folded, since_s, record.last_modified_s
        )
    learnt = replace(
        record,
        since_s=since_s,
        updates=detailed,
        folded=folded,
        counted=counted,
        feed=feed,
        hidden_s=record.hidden_s + lost_s,
        memory=memory,
    ).rated()
    if not counted:
        return RecordChange(learnt, applied=True, changed=changed)
    if not record.counted:  # it joins its group, with all its updates
        points = points_of(updates, record.folded)
        return RecordChange(learnt, applied=True, changed=changed, new_updates_s=points, new_since_s=since_s)
    moved = since_s != record.since_s
    return RecordChange(
        learnt,
        applied=True,
        changed=changed,
        new_updates_s=new,
        dropped_updates_s=dropped,
        new_since_s=since_s if moved else None,
        dropped_since_s=record.since_s if moved else None,
    )


def _memory_after(
    record: Record, since_s: float, updates: tuple[Update, ...], hidden_from_s: float
) -> UpdateMemory | None:
    """Return the memory after a contact, as it follows from that of the record; None if it does not."""
    memory = record.memory
    if since_s != record.since_s or not updates:
        return None
    if memory is None:
        if record.updates or record.folded:  # written by a version that did not keep it
            return None
        memory = memory_since(since_s)
    return memory_after(memory, record.updates, updates, hidden_from_s)


def _compare_feed(record: Record, before: VariantState | None, observation: Observation) -> _Finding:
    """Compare an object that may be a feed with its record. An update of a feed is a new item.

    Another page in its place (such as a login page) is no posting, nor is the return of the feed. While such pages are
    returned, they are compared with each other.
    """
    feed = record.feed
    if observation.listing is not None and feed is None:
        return _Finding(None, shown=read_first(observation.listing, observation.t_s))
    if observation.listing is not None and feed is not None:
        shown = read_next(feed, observation.listing, observation.t_s, {u.by_s for u in record.updates if u.exact})
        announced_s = observation.announced_within(*shown.postings[0]) if len(shown.postings) == 1 else None
        if announced_s is not None:
            shown = shown._replace(postings=((announced_s, announced_s),))
        return _Finding(bool(shown.postings), shown=shown)
    changed, update = compared(before, observation)
    if feed is None or feed.away or (observation.fingerprint is not None and observation.fingerprint.gone):
        return _Finding(changed, update)
    return _Finding(None if changed else changed)


def _without_document(feed: Feed | None, observation: Observation, *, unchanged: bool) -> Feed | None:
    """Return the state of a feed after a contact that returned no feed: a 304, or another page in its place."""
    if feed is None or observation.listing is not None or feed.away:
        return feed
    if unchanged:
        return replace(feed, listed_s=observation.t_s)
    # A response without content is a 304 to the client's own validator, for a version of the feed that is unknown here.
    shown = observation.fingerprint
    return replace(feed, away=True) if shown is not None and (shown.gone or shown.body) else feed


def _overflow(before: Feed | None, shown: FeedChange | None, t_s: float) -> tuple[TimeSpan, ...]:
    """Return the interval in which items were missed, if a feed lists none of those that it had listed before."""
    if before is None or shown is None or not before.items or before.items.keys() & shown.feed.items.keys():
        return ()
    return (TimeSpan(before.listed_s, min((by_s for _, by_s in shown.postings), default=t_s)),)


def _gathered(before: VariantState | None, observation: Observation) -> Gathered | None:
    """Return the evidence after an observation; None if the response had a validator."""
    shown, delivery = observation.fingerprint, observation.delivery
    if shown is None or delivery is None or not shown.body:
        return None
    if before is None:
        return gathered(None, shown.body, "", delivery, observation.t_s, observation.t_s)
    return gathered(
        before.evidence, shown.body, before.fingerprint.body, delivery, observation.t_s, before.t_s
    )


def _remember(
    known: Mapping[str, VariantState], observation: Observation, before: VariantState | None, found: Gathered | None
) -> dict[str, VariantState]:
    fingerprint = observation.fingerprint or (before.fingerprint if before else None)
    if fingerprint is None:
        return dict(known)
    state = VariantState(observation.t_s, fingerprint, None if found is None else found.evidence)
    variants = {**known, observation.variant: state}
    if len(variants) > VARIANTS_REMEMBERED:
        del variants[min(variants, key=lambda name: variants[name].t_s)]
    return variants
