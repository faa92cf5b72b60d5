"""The assignment of the contacts of a plan to crawlers and their slots."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.slots.assignment import Assignment, Downtime, Slots, assign
from bestbefore.policies.prefetch.slots.restricted import assign_restricted
from bestbefore.policies.units import FloatArray, IntArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.inputs.closed_file import ClosedTime
from bestbefore.replay.planning.moments import Crawls

MOST_SLOTS = 10**8
"""The most slots, ten times those of the paper's largest experiment; each takes some 50 bytes."""
MOST_PAIRS = 20_000_000
"""The most pairs of a contact and a slot that are weighed where slots are closed to single objects; some seconds."""
COLUMNS = ("id", "crawler", "slot", "start_s", "ideal_s")


@dataclass(frozen=True, slots=True, eq=False)
class Slotted:
    """The contacts of one period with their slots."""

    crawls: Crawls
    assignment: Assignment
    slots: Sequence[int]
    """The number of slots of each crawler in a period."""
    period_s: float

    @property
    def slot_s(self) -> FloatArray:
        """(m,) the length of the slot of each contact."""
        return self.period_s / np.array(self.slots, dtype=np.float64)[self.assignment.crawler]

    @property
    def late_slots(self) -> FloatArray:
        """(m,) the slots by which each contact starts after its ideal time; negative: before it."""
        return (self.assignment.start_s - self.crawls.at_s) / self.slot_s

    def columns(self) -> tuple[NDArray[np.intp], IntArray, IntArray, FloatArray, FloatArray]:
        """Return `COLUMNS` of the contacts, with the row of the object as its id, ordered by time, then crawler.

        Crawlers and slots count from 0.
        """
        order = np.lexsort((self.assignment.crawler, self.assignment.start_s))
        start_s = self.assignment.start_s[order]
        slot = np.rint(start_s / self.slot_s[order]).astype(np.int64)
        return self.crawls.rows[order], self.assignment.crawler[order], slot, start_s, self.crawls.at_s[order]

    def rows(self, ids: Ids) -> Iterator[tuple[str, int, int, float, float]]:
        """Yield `COLUMNS` for each contact, ordered as `columns`."""
        names = [name for _, part in ids.parts() for name in part]
        rows, *numbers = self.columns()
        yield from zip(map(names.__getitem__, rows.tolist()), *(values.tolist() for values in numbers), strict=True)


def slotted(
    crawls: Crawls, ids: Ids, slots_of_crawlers: Sequence[int], period_s: float, closed: Sequence[ClosedTime] = (),
    begins_s: float = 0.0,
) -> Slotted:
    """Assign each contact to an open slot from `begins_s` on, with the least sum of distances from the ideal times.

    Raises ValueError for fewer slots than contacts, too few after potential updates, more than `MOST_SLOTS`, and too
    many contacts for slots that are closed to some objects.
    """
    if sum(slots_of_crawlers) > MOST_SLOTS:
        raise ValueError(
            f"{shown_slots(slots_of_crawlers)} slots: expected {MOST_SLOTS:,} at most (--crawlers, --slots)"
        )
    shut_to_all = [Downtime(0.0, begins_s), *(one.downtime for one in closed if not one.name)]
    slots = Slots.of(period_s, slots_of_crawlers, shut_to_all)
    if crawls.rows.size > slots.start_s.size:
        shut = sum(slots_of_crawlers) - slots.start_s.size
        lacking = f", of which {shut:,} are closed{' or over' if begins_s else ''}" if shut else ""
        raise ValueError(
            f"{crawls.rows.size:,} contacts in a period for {shown_slots(slots_of_crawlers)} slots{lacking}: "
            "expected as many slots at least (--crawlers, --slots)"
        )
    of_objects = [one for one in closed if one.name]
    try:
        if of_objects:
            allowed = _allowed(crawls, ids, slots, of_objects)
            assignment = assign_restricted(slots, crawls.at_s, crawls.released, allowed)
        else:
            assignment = assign(slots, crawls.at_s, crawls.released)
    except RowError as error:
        raise ValueError(f"object {ids[int(crawls.rows[error.row])]!r}: {error.problem}") from None
    return Slotted(crawls, assignment, slots_of_crawlers, period_s)


def shown_slots(slots_of_crawlers: Sequence[int]) -> str:
    """The slots of each crawler as text, `2 x 96` or `96 + 48`."""
    if len(set(slots_of_crawlers)) == 1:
        return f"{len(slots_of_crawlers):,} x {slots_of_crawlers[0]:,}"
    return " + ".join(f"{slots:,}" for slots in slots_of_crawlers)


def _allowed(crawls: Crawls, ids: Ids, slots: Slots, closed: Sequence[ClosedTime]) -> NDArray[np.bool_]:
    """(m, M) whether a contact may use a slot, by the closed times of its object. Raises ValueError."""
    if crawls.rows.size * slots.start_s.size > MOST_PAIRS:
        raise ValueError(
            f"{crawls.rows.size:,} contacts and {slots.start_s.size:,} slots: with slots closed to single objects at "
            f"most {MOST_PAIRS:,} pairs are weighed"
        )
    row_of = {name: rows.start + row for rows, names in ids.parts() for row, name in enumerate(names)}
    allowed = np.ones((crawls.rows.size, slots.start_s.size), dtype=np.bool_)
    for one in closed:
        if one.name not in row_of:
            raise ValueError(f"slots are closed to {one.name!r}, which is no object of the plan")
        inside = one.downtime.covers(slots.start_s, slots.crawler)
        allowed[crawls.rows == row_of[one.name]] &= ~inside
    return allowed
