"""The assignment of the contacts of a plan to crawlers and their slots."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.prefetch.slots.assignment import Assignment, Slots, assign
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.moments import Crawls

MOST_SLOTS = 10**8
"""The most slots, ten times those of the paper's largest experiment; each takes some 50 bytes."""
COLUMNS = ("id", "crawler", "slot", "start_s", "ideal_s")


@dataclass(frozen=True, slots=True, eq=False)
class Slotted:
    """The contacts of one period with their slots."""

    crawls: Crawls
    assignment: Assignment
    crawlers: int
    """The number of crawlers."""
    slots: int
    """The number of slots of each crawler in a period."""
    period_s: float

    @property
    def slot_s(self) -> float:
        return self.period_s / self.slots

    @property
    def late_slots(self) -> FloatArray:
        """(m,) the slots by which each contact starts after its ideal time; negative: before it."""
        return (self.assignment.start_s - self.crawls.at_s) / self.slot_s

    def rows(self, ids: Ids) -> Iterator[tuple[str, int, int, float, float]]:
        """Yield `COLUMNS` for each contact, ordered by time, then crawler; crawlers and slots count from 0."""
        names = [name for _, part in ids.parts() for name in part]
        order = np.lexsort((self.assignment.crawler, self.assignment.start_s))
        start_s = self.assignment.start_s[order]
        yield from zip(
            map(names.__getitem__, self.crawls.rows[order].tolist()),
            self.assignment.crawler[order].tolist(),
            np.rint(start_s / self.slot_s).astype(np.int64).tolist(),
            start_s.tolist(),
            self.crawls.at_s[order].tolist(),
            strict=True,
        )


def slotted(crawls: Crawls, ids: Ids, crawlers: int, slots: int, period_s: float) -> Slotted:
    """Assign each contact to a slot, with the least sum of distances from the ideal times.

    Raises ValueError for fewer slots than contacts, too few after potential updates, or more than `MOST_SLOTS`.
    """
    if crawlers * slots > MOST_SLOTS:
        raise ValueError(f"{crawlers:,} x {slots:,} slots: expected {MOST_SLOTS:,} at most (--crawlers, --slots)")
    if crawls.rows.size > crawlers * slots:
        raise ValueError(
            f"{crawls.rows.size:,} contacts in a period for {crawlers:,} x {slots:,} slots: expected as many slots at "
            "least (--crawlers, --slots)"
        )
    try:
        assignment = assign(Slots.of(period_s, [slots] * crawlers), crawls.at_s, crawls.released)
    except RowError as error:
        raise ValueError(f"object {ids[int(crawls.rows[error.row])]!r}: {error.problem}") from None
    return Slotted(crawls, assignment, crawlers, slots, period_s)
