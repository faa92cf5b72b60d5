"""Learning: from observations to the update history of an object.

What a proxy sees is censored: a contact tells whether the object changed since the last one, and perhaps when. The
record keeps each update as it was learnt (exactly, or an interval), and the point history that the policies take is
derived from it: the exact time, else the middle of the interval (`refresh` section 7.3).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bestbefore.addon.engine.listing import Feed, Shown, read_first, read_next
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.update import Update
from bestbefore.policies.models.history import History
from bestbefore.policies.units import HOUR_S

DETAILED_UPDATES = 1024
"""How many updates of an object are kept one by one; older ones are kept as counts per hour."""
VARIANTS_REMEMBERED = 16
"""How many variants of an object have their last fingerprint kept; the longest unseen is forgotten first."""
CLOCK_SKEW_S = 60.0
"""How far ahead of ours the clock of another proxy may be before its times count as wrong."""


@dataclass(frozen=True, slots=True)
class VariantSeen:
    """The last observation of one variant."""

    t_s: float
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one object: all that is remembered of it. Immutable: `observe` makes the next one."""

    url: str
    since_s: float
    """t_0: the first contact, or what the origin's own list of updates reaches back to."""
    last_contact_s: float
    contacts: int = 1
    unchanged: int = 0
    """Contacts that found the object as it was."""
    updates: tuple[Update, ...] = field(default=())
    """Ascending by their points."""
    folded: tuple[tuple[int, int], ...] = field(default=())
    """Older updates: (hours since the epoch, count), ascending."""
    last_modified_s: float | None = None
    """The Last-Modified of the first contact, if it lay before it."""
    seen: Mapping[str, VariantSeen] = field(default_factory=dict)
    """The last observation of each variant."""
    counted: bool = False
    """Whether this object is a member of its group: it has shown a validator, or the rule learns without; and it was
    contacted twice, or its origin listed its updates. A single contact has observed no time at all, and its record may
    vanish with no process there to take it out of the group's counts."""
    feed: Feed | None = None
    """What is remembered of its items, if it is a feed."""
    hidden_s: float = 0.0
    """How long others may have hidden before updates whose time is known: since the contact before each, in sum. Not
    of those that the origin has listed."""

    @property
    def provisional(self) -> bool:
        """Whether the object was seen only once: most never come again."""
        return self.contacts < 2 and not self.counted

    def history(self) -> History:
        """The point history, as the policies take it."""
        return History.of((u.point_s for u in self.updates), self.since_s, self.last_modified_s, self.folded)

    @property
    def n_updates(self) -> int:
        return len(self.updates) + sum(n for _, n in self.folded)


@dataclass(frozen=True, slots=True)
class Learnt:
    """The record after an observation, and what the group's counts gain and lose by it."""

    record: Record
    applied: bool
    """False: this observation, or a later one, was known already; the record is unchanged."""
    changed: bool | None
    """Whether the object was found changed; None if this contact could not tell (a first one, say)."""
    new_updates_s: tuple[float, ...] = ()
    """Points that the group's counts gain: the updates learnt, or all of them when the object joins its group. (Of a
    folded update only the hour is known: its point is the middle of that.)"""
    dropped_updates_s: tuple[float, ...] = ()
    """Points counted before that are now known to be elsewhere (an interval that became an exact time), or wrong."""
    new_since_s: float | None = None
    """A t_0 that enters the group's counts: of a new member, or the earlier one of a member."""
    dropped_since_s: float | None = None


def hour_of(t_s: float) -> int:
    """The hour since the epoch in which t lies, as the group's counts are kept."""
    return math.floor(t_s / HOUR_S)


def observe(record: Record | None, seen: Observation) -> Learnt:
    """Apply one observation to what is remembered of its object.

    An observation that is not later than the last one of the object is dropped: a response with a large Age may be
    older than what is known, and a write repeated after a timeout must count once.
    """
    if record is None:
        shown = None if seen.listing is None else read_first(seen.listing, seen.t_s)
        return _merged(_first(seen), seen, _Found(None, shown=shown))
    if seen.t_s <= record.last_contact_s:
        return Learnt(record, applied=False, changed=None)
    before = record.seen.get(seen.variant)
    found = _compare_feed(record, before, seen)
    listed = seen.reported_since_s is not None
    record = replace(
        record,
        hidden_s=record.hidden_s + (0.0 if listed or found.update is None else _hidden_s(record, found.update)),
        last_contact_s=seen.t_s,
        contacts=record.contacts + 1,
        unchanged=record.unchanged + (found.changed is False),
        seen=_remember(record.seen, seen, before),
        feed=_without_document(record.feed, seen, unchanged=found.changed is False),
    )
    return _merged(record, seen, found)


def until(record: Record, now_s: float) -> Learnt:
    """The record without what bears a time after now: the clock was ahead when it was made, and has been set back.

    Without this such an object would learn nothing until the clock had caught up. A record that is ahead by no more
    than `CLOCK_SKEW_S` is left as it is.

    When the contacts that bear later times were made is not known: after the latest moment that the record has from
    the right time, which is its last contact now (-inf if it has none), so that the observation at hand is later.
    """
    if record.last_contact_s <= now_s + CLOCK_SKEW_S:
        return Learnt(record, applied=False, changed=None)
    updates = tuple(u for u in record.updates if u.by_s <= now_s)
    moments_s = [record.since_s, *(u.by_s for u in updates), *(seen.t_s for seen in record.seen.values())]
    last_s = max((t for t in moments_s if t <= now_s), default=-math.inf)
    kept = replace(
        record,
        since_s=min(record.since_s, now_s),
        last_contact_s=last_s,
        updates=updates,
        folded=tuple((hour, n) for hour, n in record.folded if hour < hour_of(now_s)),
        seen={name: VariantSeen(min(seen.t_s, last_s), seen.fingerprint) for name, seen in record.seen.items()},
        feed=None if record.feed is None else replace(record.feed, listed_s=min(record.feed.listed_s, last_s)),
    )
    if not record.counted:
        return Learnt(kept, applied=True, changed=None)
    moved = kept.since_s != record.since_s
    return Learnt(
        kept,
        applied=True,
        changed=None,
        dropped_updates_s=_points(
            tuple(u for u in record.updates if u.by_s > now_s), set(record.folded) - set(kept.folded)
        ),
        new_since_s=kept.since_s if moved else None,
        dropped_since_s=record.since_s if moved else None,
    )


def _first(seen: Observation) -> Record:
    modified_s = seen.fingerprint.last_modified_s if seen.fingerprint else None
    return Record(
        url=seen.url,
        since_s=seen.t_s,
        last_contact_s=seen.t_s,
        last_modified_s=modified_s if modified_s is not None and modified_s <= seen.t_s else None,
        seen=_remember({}, seen, None),
    )


class _Found(NamedTuple):
    """The findings of a contact."""

    changed: bool | None
    """As in `Learnt`."""
    update: Update | None = None
    """The update, unless its postings are known."""
    shown: Shown | None = None
    """What the document showed, if it was a feed."""


def _merged(record: Record, seen: Observation, found: _Found) -> Learnt:
    """Add the updates that the contact showed and those that the origin reported, and say what the group gains."""
    changed, update, shown = found
    since_s = min(record.since_s, seen.t_s)  # later only where the clock was ahead when the record began
    if shown is not None and shown.since_s is not None:
        since_s = min(since_s, shown.since_s)
    if seen.reported_since_s is not None:
        since_s = min(since_s, seen.reported_since_s)
    reported_from_s = since_s
    if record.folded:
        # Of the last hour with folded ones, what was reported from the oldest that is kept one by one on is not among
        # them.
        reported_from_s = min([(record.folded[-1][0] + 1) * HOUR_S, *(u.by_s for u in record.updates[:1])])
    postings = [Update(*span) for span in shown.postings] if shown is not None else []
    reported = [Update(t, t) for t in seen.reported_s]
    if record.feed is None:  # of a first document: these may be updates that were learnt before it was known as a feed
        reported, postings = [*reported, *postings], []
    reported = [update for update in reported if reported_from_s <= update.by_s <= seen.t_s]
    if update is not None:  # the second of a Last-Modified may have begun before t_0
        reported.append(Update(max(update.after_s, since_s), max(update.by_s, since_s)))
    updates, new, dropped = _merge(record.updates, reported, postings)
    detailed, folded = _fold(updates, record.folded)
    # Of a folded update only its point remains.
    hidden_s = record.hidden_s + sum(u.point_s - u.after_s for u in updates[: len(updates) - len(detailed)])
    listed = seen.reported_since_s is not None or (shown is not None and bool(shown.postings))
    counted = record.counted or (seen.counted and (record.contacts > 1 or listed))
    feed = record.feed if shown is None else shown.feed
    learnt = replace(
        record, since_s=since_s, updates=detailed, folded=folded, counted=counted, feed=feed, hidden_s=hidden_s
    )
    if not counted:
        return Learnt(learnt, applied=True, changed=changed)
    if not record.counted:  # it joins its group, with all that is known of it
        points = _points(updates, record.folded)
        return Learnt(learnt, applied=True, changed=changed, new_updates_s=points, new_since_s=since_s)
    moved = since_s != record.since_s
    return Learnt(
        learnt,
        applied=True,
        changed=changed,
        new_updates_s=new,
        dropped_updates_s=dropped,
        new_since_s=since_s if moved else None,
        dropped_since_s=record.since_s if moved else None,
    )


def _compare_feed(record: Record, before: VariantSeen | None, seen: Observation) -> _Found:
    """Return what the contact shows of an object that may be a feed: of a feed, only a new item is an update.

    A page in its place (it asks for a login, say, or has moved) is no posting, nor is the way back. While such pages
    come, they are compared among themselves.
    """
    feed = record.feed
    if seen.listing is not None and feed is None:
        return _Found(None, shown=read_first(seen.listing, seen.t_s))
    if seen.listing is not None and feed is not None:
        shown = read_next(feed, seen.listing, seen.t_s, {u.by_s for u in record.updates if u.exact})
        return _Found(bool(shown.postings), shown=shown)
    changed, update = _compare(before, seen)
    if feed is None or feed.away or (seen.fingerprint is not None and seen.fingerprint.gone):
        return _Found(changed, update)
    return _Found(None if changed else changed)


def _without_document(feed: Feed | None, seen: Observation, *, unchanged: bool) -> Feed | None:
    """Return what is remembered of a feed after a contact without a document: a 304, or something else in its place."""
    if feed is None or seen.listing is not None or feed.away:
        return feed
    if unchanged:
        return replace(feed, listed_s=seen.t_s)
    # Without content it is a 304 to a validator of the client's: it has the feed, a version that was not seen here.
    elsewhere = seen.fingerprint is not None and (seen.fingerprint.gone or bool(seen.fingerprint.body))
    return replace(feed, away=True) if elsewhere else feed


def _compare(before: VariantSeen | None, seen: Observation) -> tuple[bool | None, Update | None]:
    """Whether the variant changed since it was last seen, and the update that this shows."""
    if seen.fingerprint is None:
        return False, None
    if before is None:
        return None, None
    same = before.fingerprint.same_content(seen.fingerprint)
    if same is None:
        return None, None
    if same:
        return False, None
    return True, _dated(before, seen, seen.fingerprint.last_modified_s)


def _dated(before: VariantSeen, seen: Observation, modified_s: float | None) -> Update:
    """The update between two observations: at its Last-Modified where that can be believed, else in the interval.

    A Last-Modified counts whole seconds, so one up to a second before the last contact may still follow it; one in the
    future, not later than the one before, or older than the last contact is not believed.
    """
    previous_s = before.fingerprint.last_modified_s
    if (
        modified_s is not None
        and modified_s <= seen.t_s
        and modified_s > before.t_s - 1.0
        and (previous_s is None or modified_s > previous_s)
    ):
        return Update(modified_s, modified_s)
    return Update(before.t_s, seen.t_s)


def _hidden_s(record: Record, update: Update) -> float:
    """Return how long others may have hidden before an update that a contact has shown, if its time has become known.

    Since the contact before; if the update was known to lie in an interval, since the contact at which that begins.
    """
    if not update.exact or update in record.updates:
        return 0.0
    after_s = max((u.after_s for u in record.updates if u.may_be(update)), default=record.last_contact_s)
    return max(update.by_s - after_s, 0.0)


def _merge(
    known: tuple[Update, ...], reported: Sequence[Update], others: Sequence[Update]
) -> tuple[tuple[Update, ...], tuple[float, ...], tuple[float, ...]]:
    """Add updates to those known; one reported that may be a known one narrows it.

    All but the last reported are exact. `others` are surely none of the known.

    Also the points gained and lost.
    """
    if not reported and not others:  # as at most contacts
        return known, (), ()
    updates = list(known)
    exact_s = {u.by_s for u in known if u.exact}
    vague = [i for i, u in enumerate(known) if not u.exact]
    for update in reported:
        if update.exact and update.by_s in exact_s:
            continue
        # Exact updates that are not at the same moment are not the same: a feed may list a thousand.
        places = reversed(vague) if update.exact else range(len(updates) - 1, -1, -1)
        twin = next((i for i in places if updates[i].may_be(update)), None)
        if twin is None:
            twin = len(updates)
            updates.append(update)
        else:
            updates[twin] = updates[twin].narrowed(update)
        if updates[twin].exact:
            exact_s.add(updates[twin].by_s)
            vague = [i for i in vague if i != twin]
    updates += [u for u in others if not (u.exact and u.by_s in exact_s)]
    before, after = {u.point_s for u in known}, {u.point_s for u in updates}
    updates.sort(key=lambda u: u.point_s)
    return tuple(updates), tuple(sorted(after - before)), tuple(sorted(before - after))


def _points(updates: tuple[Update, ...], folded: Iterable[tuple[int, int]]) -> tuple[float, ...]:
    """The points of updates, and as many in the middle of their hours as were folded."""
    in_hours = ((hour + 0.5) * HOUR_S for hour, n in folded for _ in range(n))
    return tuple(sorted([*(u.point_s for u in updates), *in_hours]))


def _fold(
    updates: tuple[Update, ...], folded: tuple[tuple[int, int], ...]
) -> tuple[tuple[Update, ...], tuple[tuple[int, int], ...]]:
    """Keep the latest updates one by one, the others as counts per hour."""
    surplus = len(updates) - DETAILED_UPDATES
    if surplus <= 0:
        return updates, folded
    hours = dict(folded)
    for update in updates[:surplus]:
        hour = hour_of(update.point_s)
        hours[hour] = hours.get(hour, 0) + 1
    return updates[surplus:], tuple(sorted(hours.items()))


def _remember(
    known: Mapping[str, VariantSeen], seen: Observation, before: VariantSeen | None
) -> dict[str, VariantSeen]:
    fingerprint = seen.fingerprint or (before.fingerprint if before else None)
    if fingerprint is None:
        return dict(known)
    variants = {**known, seen.variant: VariantSeen(seen.t_s, fingerprint)}
    if len(variants) > VARIANTS_REMEMBERED:
        del variants[min(variants, key=lambda name: variants[name].t_s)]
    return variants
