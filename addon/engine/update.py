"""An update of an object, at a known time or within an interval; and its updates, merged, folded and remembered."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bestbefore.policies.models.hazard.memory import (
    UpdateMemory,
    memory_at_first_contact,
    memory_since,
    updated_at,
    updated_within,
)
from bestbefore.policies.units import HOUR_S

UNSEEN_REMEMBERED = 64
"""How many intervals are kept in which updates may have been missed."""


class TimeSpan(NamedTuple):
    """The interval (after_s, by_s]."""

    after_s: float
    by_s: float


@dataclass(frozen=True, slots=True, order=True)
class Update:
    """An update in (after_s, by_s]; both are equal if its time is exact."""

    after_s: float
    by_s: float

    @property
    def exact(self) -> bool:
        return self.after_s == self.by_s

    @property
    def point_s(self) -> float:
        return self.by_s if self.exact else (self.after_s + self.by_s) / 2

    def may_be(self, other: "Update") -> bool:
        """Whether both can be the same update."""
        if self.exact and other.exact:
            return self.by_s == other.by_s
        if self.exact or other.exact:
            point, interval = (self, other) if self.exact else (other, self)
            return interval.after_s < point.by_s <= interval.by_s
        return max(self.after_s, other.after_s) < min(self.by_s, other.by_s)

    def narrowed(self, other: "Update") -> "Update":
        """Return the update in the intersection of both intervals."""
        if self.exact:
            return self
        return other if other.exact else Update(max(self.after_s, other.after_s), min(self.by_s, other.by_s))


def hour_of(t_s: float) -> int:
    """The hour since the epoch in which t lies, as the group's counts are kept."""
    return math.floor(t_s / HOUR_S)


def merged(
    known: tuple[Update, ...], reported: Sequence[Update], others: Sequence[Update]
) -> tuple[tuple[Update, ...], tuple[float, ...], tuple[float, ...]]:
    """Merge updates; a reported update that may be a known one narrows its interval.

    All reported updates but the last are exact. `others` are certainly not among the known updates.

    Returns the updates, and the points gained and lost.
    """
    if not reported and not others:  # the usual case
        return known, (), ()
    updates = list(known)
    exact_s = {u.by_s for u in known if u.exact}
    vague = [i for i, u in enumerate(known) if not u.exact]
    for update in reported:
        if update.exact and update.by_s in exact_s:
            continue
        # Exact updates at different times are different, so only intervals are searched: a feed may list a thousand.
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


def points_of(updates: tuple[Update, ...], folded: Iterable[tuple[int, int]]) -> tuple[float, ...]:
    """Return the points of updates, and of folded ones the middle of their hours."""
    in_hours = ((hour + 0.5) * HOUR_S for hour, n in folded for _ in range(n))
    return tuple(sorted([*(u.point_s for u in updates), *in_hours]))


def fold(
    updates: tuple[Update, ...], folded: tuple[tuple[int, int], ...], detailed: int
) -> tuple[tuple[Update, ...], tuple[tuple[int, int], ...]]:
    """Keep the latest updates individually, at most `detailed`, the others as counts per hour."""
    surplus = len(updates) - detailed
    if surplus <= 0:
        return updates, folded
    hours = dict(folded)
    for update in updates[:surplus]:
        hour = hour_of(update.point_s)
        hours[hour] = hours.get(hour, 0) + 1
    return updates[surplus:], tuple(sorted(hours.items()))


def missed_before(updates: Sequence[Update], update: Update, last_contact_s: float) -> tuple[TimeSpan, ...]:
    """Return the interval before a new update of known time in which further updates may have been missed, if any.

    It begins at the contact before; or, if the update was known within an interval before, at the start of the
    interval.
    """
    if not update.exact or update in updates:
        return ()
    after_s = max((u.after_s for u in updates if u.may_be(update)), default=last_contact_s)
    return (TimeSpan(after_s, update.by_s),) if after_s < update.by_s else ()


def with_missed(known: tuple[TimeSpan, ...] | None, more: Iterable[TimeSpan]) -> tuple[TimeSpan, ...] | None:
    """Return the latest intervals in which updates may have been missed; None if these are not known."""
    return None if known is None else tuple(sorted({*known, *more}))[-UNSEEN_REMEMBERED:]


def total_s(spans: Iterable[TimeSpan]) -> float:
    """Return the sum of the lengths of intervals, s."""
    return sum((span.by_s - span.after_s for span in spans), 0.0)


def memory_of(
    updates: Iterable[Update], folded: Iterable[tuple[int, int]], since_s: float, modified_s: float | None = None
) -> UpdateMemory | None:
    """Return the memory of updates, in ascending order, observed since t_0; None without any.

    `modified_s`: the Last-Modified of the first contact. One before t_0 is an update too.

    Where updates may have been missed before one of known time is not kept, so the object counts as observed there.
    """
    in_hours = (Update(hour * HOUR_S, hour * HOUR_S) for hour, n in folded for _ in range(n))
    memory = memory_since(since_s)
    if modified_s is not None and modified_s < since_s:
        memory = memory_at_first_contact(modified_s)
    for update in (*in_hours, *updates):
        memory = _remembered(memory, update, update.by_s)
    return memory if memory.updates else None


def memory_after(
    memory: UpdateMemory, before: Iterable[Update], after: Sequence[Update], hidden_from_s: float
) -> UpdateMemory | None:
    """Return the memory after a contact that has changed the updates of an object from `before` to `after`.

    `hidden_from_s`: from when on other updates than that of known time may have been missed.

    Returns None if it does not follow from the memory before: an update became known late, or its exact time did.
    """
    known = set(before)
    added = [update for update in after if update not in known]
    for gone in known.difference(after):
        narrowed = next((u for u in added if gone.after_s <= u.after_s and u.by_s <= gone.by_s), None)
        if narrowed is None or narrowed.exact:
            return None
        added.remove(narrowed)  # its memory would hardly change
    for update in added:
        if update.after_s < memory.at_s:
            return None
        memory = _remembered(memory, update, hidden_from_s)
    return memory


def _remembered(memory: UpdateMemory, update: Update, hidden_from_s: float) -> UpdateMemory:
    after_s, by_s = max(update.after_s, memory.at_s), max(update.by_s, memory.at_s)
    if after_s < by_s:
        return updated_within(memory, after_s, by_s)
    return updated_at(memory, by_s, min(max(hidden_from_s, memory.at_s), by_s))
