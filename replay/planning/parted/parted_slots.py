"""The slots of the contacts with objects in parts.

Each part reports the ideal times of its contacts, and one process assigns slots to all of them, as it would to those of
one file: the best slot of a contact depends on the contacts of all parts. So memory there holds the contacts and slots
of a period, but not the objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bestbefore.policies.prefetch.allocation.parts import Division
from bestbefore.policies.prefetch.slots.assignment import Assignment
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary
from bestbefore.policies.units import FloatArray, IntArray
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.inputs.closed_file import ClosedTime
from bestbefore.replay.planning.moments import Crawls, evenly
from bestbefore.replay.planning.parted.part_files import FileParts, PartFile, read_columns
from bestbefore.replay.planning.slotted import Slotted, slotted
from bestbefore.replay.traces.skipped import shortened


@dataclass(frozen=True, slots=True)
class CrawlerSlots:
    """The slots of crawlers, and the times in which they are closed."""

    numbers: Sequence[int]
    """The number of slots of each crawler in a period."""
    closed: Sequence[ClosedTime] = ()

    def refuse_objects(self) -> None:
        """Raise ValueError for slots that are closed to single objects."""
        if (one := next((one for one in self.closed if one.name), None)) is not None:
            raise ValueError(
                f"slots are closed to {shortened(one.name)!r}: closed to single objects, all pairs of a contact and a "
                "slot are weighed, which is not for objects in parts (--closed)"
            )


@dataclass(frozen=True, slots=True, eq=False)
class SlotShare:
    """The slots of the contacts of one part, in the order of its `Crawls`."""

    start_s: FloatArray
    """(m,) the start of the slot."""
    crawler: IntArray
    """(m,) the crawler of the slot."""

    def slotted(self, crawls: Crawls, slots: CrawlerSlots, period_s: float) -> Slotted:
        """Return the contacts of the part with their slots."""
        unknown = np.full(self.start_s.size, -1)  # the place among all slots is not needed
        assignment = Assignment(unknown, self.start_s, self.crawler.astype(np.int64))
        return Slotted(crawls, assignment, slots.numbers, period_s)


def slotted_in_parts(
    files: FileParts, parts: Sequence[PartFile], division: Division, slots: CrawlerSlots, period_s: float,
    boundary: Boundary,
) -> tuple[Slotted, list[SlotShare]]:
    """Assign slots to the contacts of all parts as `slotted`, which has the errors.

    Returns all contacts, whose rows are the numbers of the parts, and the share of each part.
    """
    ideal_s = files.each(partial(_ideal_times, division, period_s, boundary, owned=files.owned), list(enumerate(parts)))
    sizes = [times_s.size for times_s in ideal_s]
    crawls = Crawls(
        np.repeat(np.arange(len(parts)), sizes), np.concatenate(ideal_s), np.zeros(sum(sizes), dtype=np.bool_)
    )
    found = slotted(crawls, Ids.of(()), slots.numbers, period_s, slots.closed)
    smallest = np.min_scalar_type(len(slots.numbers))  # what is sent to the parts should be small
    ends = np.cumsum(sizes)[:-1]
    start_s = np.split(found.assignment.start_s, ends)
    crawler = np.split(found.assignment.crawler.astype(smallest), ends)
    return found, [SlotShare(*share) for share in zip(start_s, crawler, strict=True)]


def part_crawls(contacts: FloatArray, part: PartFile, period_s: float, boundary: Boundary) -> Crawls:
    """Return the contacts of a part at their ideal times, from the (n,) whole numbers of contacts with its objects."""
    return evenly(contacts.astype(np.int64), period_s, boundary, part.first)


def _ideal_times(
    division: Division, period_s: float, boundary: Boundary, numbered: tuple[int, PartFile], *, owned: bool
) -> FloatArray:
    number, part = numbered
    return part_crawls(division(read_columns(part.path, number, owned=owned)), part, period_s, boundary).at_s
