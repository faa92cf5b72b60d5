"""The optimal plan of contacts with objects in parts: what is known of all parts, the division, and its results.

Each round asks all parts one question, and each part reads its own file to answer. The search for the multiplier takes
a few rounds (`allocation.optimum`), those for bounds or a target some more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bestbefore.policies.prefetch.allocation.bounded import BoundedDivisions
from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.owned import OwnedDivisions
from bestbefore.policies.prefetch.allocation.parts import Divide, Division
from bestbefore.policies.prefetch.checked import checked_budget
from bestbefore.policies.prefetch.table import ALLOCATIONS, OBJECTIVES
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.moments import Moments, phases
from bestbefore.replay.planning.parted.part_files import (
    FileParts,
    MapOver,
    PartFile,
    check_ids,
    read_columns,
    read_ids,
    read_owners,
)
from bestbefore.replay.planning.parted.parted_slots import CrawlerSlots, SlotShare, part_crawls, slotted_in_parts
from bestbefore.replay.planning.parted.parted_visits import VisitDivision, VisitDivisions, Visiting
from bestbefore.replay.planning.slotted import COLUMNS, Slotted
from bestbefore.replay.planning.target import PlanTarget, budget_reaching
from bestbefore.replay.planning.whole_visits import whole_of_owner
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.parquet import installed_polars, write_frame
from bestbefore.replay.traces.skipped import shortened
from bestbefore.replay.whole_file import whole_file

SLOTS = "slots"
"""The name of the folder of the slots of each part, in that of the plan."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums and extremes over the objects of one or all parts."""

    objects: int
    updates: float
    """Per period."""
    heaviest: float
    """The largest weight."""
    least: float
    """The sum of the minimums."""
    most: float
    """The sum of the maximums."""
    bounded: bool
    owners: Sequence[str] = ()
    """The owners of objects, of a part only and if they are needed."""

    @classmethod
    def of_part(cls, path: Path, *, owned: bool = False) -> "Totals":
        """Read and check a part. Raises TraceError."""
        columns = read_columns(path)
        check_ids(path)
        least, most = columns.minimum, columns.maximum
        return cls(
            len(columns), float(columns.rates.sum()), float(columns.weights.max(initial=0.0)),
            0.0 if least is None else float(least.sum()),
            float(most.sum()) if most is not None else np.inf if len(columns) else 0.0,
            least is not None or most is not None,
            read_owners(path)[1] if owned else (),
        )

    @classmethod
    def of_all(cls, parts: Sequence["Totals"]) -> "Totals":
        """Add the totals of parts."""
        return cls(
            sum(one.objects for one in parts), sum(one.updates for one in parts), max(one.heaviest for one in parts),
            sum(one.least for one in parts), sum(one.most for one in parts), any(one.bounded for one in parts),
        )


class PartedObjects:
    """The objects in the parts of a folder, read and checked once."""

    def __init__(
        self, folder: Path, paths: Sequence[Path], map_: MapOver, most_of_owner: float | None = None
    ) -> None:
        """`most_of_owner` > 0 is the most contacts per period with the objects of one owner; None: any number.

        Raises TraceError for what is wrong in a part, and for an owner of objects in two parts.
        """
        self._most_of_owner = most_of_owner
        owned = most_of_owner is not None
        self.files = FileParts(paths, map_, owned=owned)
        each = self.files.each(partial(Totals.of_part, owned=owned), paths)
        _refuse_divided_owners(paths, each)
        self.totals = Totals.of_all(each)
        if not self.totals.objects:
            raise TraceError(f"{folder}: no object in {len(paths)} parts, expected some")
        if not self.totals.heaviest > 0.0:
            raise TraceError(f"{folder}: no object has a weight above 0")
        firsts = np.cumsum([0, *(one.objects for one in each)]).tolist()
        self.parts = [PartFile(path, first) for path, first in zip(paths, firsts, strict=False)]

    def divide(self, name: str) -> Divide:
        """Return the function that divides budgets by an allocation of `table.ALLOCATIONS`, within bounds."""
        allocation = ALLOCATIONS[name]
        if self._most_of_owner is not None:
            limited = OwnedDivisions(allocation, self.files, self._most_of_owner)
            return lambda budget: limited(checked_budget(budget))
        divide = BoundedDivisions(allocation, self.files) if self.totals.bounded else allocation.over(self.files)
        return lambda budget: divide(checked_budget(budget))

    def divide_whole(self, objective: str, boundary: Boundary) -> Divide:
        """Return the function that divides budgets in whole numbers of contacts. Raises TraceError and ValueError."""
        most = self._most_of_owner
        visiting = Visiting(objective, boundary, None if most is None else whole_of_owner(most))
        return VisitDivisions(self.files, visiting, self.totals.objects)

    def means(
        self, division: Division, measures: Sequence[str], boundary: Boundary = "periodic"
    ) -> Mapping[str, float]:
        """Return weighted means as `planning.plan.means`, in periods, and the sum of the refreshes as `contacts`."""
        fresh = _current_at_start(boundary)
        asked = partial(_sums, division, self.totals.heaviest, tuple(measures), fresh)
        sums = np.sum(self.files.ask(asked), axis=0)
        weight, changing, contacts, *values = sums.tolist()
        found = dict(zip(measures, (value / weight for value in values), strict=True))
        if "delay" in found:
            found["delay"] = found["delay"] * weight / changing if changing > 0.0 else 0.0
        return {**found, "contacts": contacts}

    def budget_for(
        self, target: PlanTarget, divide: Divide, period_s: float, boundary: Boundary = "periodic", *,
        discrete: bool = False,
    ) -> float:
        """Return the least budget with which the divisions reach the target; see `target.budget_reaching`."""
        def reached(budget: float) -> float:
            value = self.means(divide(budget), (target.measure,), boundary)[target.measure]
            return value * (1.0 if target.measure == "freshness" else period_s)

        totals = self.totals
        return budget_reaching(target, reached, totals.least, totals.most, totals.updates, discrete=discrete)

    def slotted(
        self, division: Division, slots: CrawlerSlots, period_s: float, boundary: Boundary
    ) -> tuple[Slotted, list[SlotShare]]:
        """Assign slots to the contacts of a division in whole numbers; see `parted_slots.slotted_in_parts`."""
        return slotted_in_parts(self.files, self.parts, division, slots, period_s, boundary)

    def write(
        self, division: Division, folder: Path, period_s: float, boundary: Boundary = "periodic",
        slots: CrawlerSlots | None = None, shares: Sequence[SlotShare] = (),
    ) -> None:
        """Write the plan of each part into the folder, as a file of the same name, and its slots into `slots` there.

        `shares` are those of the parts, if there are slots. Raises OSError.
        """
        owned = self._most_of_owner is not None
        if slots is not None:
            (folder / SLOTS).mkdir()
        write = partial(_write, division, folder.absolute(), period_s, boundary, slots, owned=owned)
        numbered = [(number, part, shares[number] if shares else None) for number, part in enumerate(self.parts)]
        self.files.each(write, numbered)


def _refuse_divided_owners(paths: Sequence[Path], each: Sequence[Totals]) -> None:
    """Raise TraceError for the first owner of objects in two parts."""
    part_of: dict[str, Path] = {}
    for path, totals in zip(paths, each, strict=True):
        for owner in totals.owners:
            if part_of.setdefault(owner, path) != path:
                raise TraceError(
                    f"{path}: objects of {shortened(owner)!r}, and others in {part_of[owner].name}: expected all "
                    "objects of a registrable domain in one part (--per-host-interval)"
                )


def _current_at_start(boundary: Boundary) -> float:
    """Return the number of intervals between contacts without any contact."""
    return 1.0 if boundary == "interval" else 0.0


def _sums(
    division: Division, heaviest: float, measures: Sequence[str], fresh: float, columns: PartColumns
) -> FloatArray:
    """The sums of weights in units of the heaviest, of these times rates, of refreshes, and of weighted measures."""
    refreshes = division(columns)
    weighty = columns.weights > 0.0
    rates, own = columns.rates[weighty], refreshes[weighty]
    weights = columns.weights[weighty] / heaviest
    values = [float((weights * OBJECTIVES[name].measure(rates, own + fresh)).sum()) for name in measures]
    return np.array([weights.sum(), (weights * rates).sum(), refreshes.sum(), *values])


def _write(
    division: Division, folder: Path, period_s: float, boundary: Boundary, slots: CrawlerSlots | None,
    numbered: tuple[int, PartFile, SlotShare | None], *, owned: bool,
) -> None:
    pl = installed_polars()
    number, part, share = numbered
    columns = read_columns(part.path, number, owned=owned)
    contacts = division(columns)
    rates, intervals = columns.rates, contacts + _current_at_start(boundary)
    whole = isinstance(division, VisitDivision)
    with np.errstate(divide="ignore", invalid="ignore"):
        interval_s = np.where(contacts > 0.0, period_s / contacts, np.nan)
        first_s = interval_s * phases(len(columns), part.first)
        if boundary == "interval":
            first_s = np.where(contacts > 0.0, period_s / intervals, np.nan)
        each_delay = np.where(rates > 0.0, OBJECTIVES["delay"].measure(rates, intervals) / rates, np.nan)
    numbers = {
        "rate": rates,
        "weight": columns.weights,
        "visits" if whole else "frequency": contacts,
        "interval_s": interval_s,
        "freshness": OBJECTIVES["freshness"].measure(rates, intervals),
        "age_s": OBJECTIVES["age"].measure(rates, intervals) * period_s,
        "delay_s": each_delay * period_s,
        "first_s": first_s,
    }
    ids = read_ids(part.path)
    if slots is not None and share is not None:
        in_slots = share.slotted(part_crawls(contacts, part, period_s, boundary), slots, period_s)
        moments = Moments.of(in_slots.crawls, share.start_s, len(columns), period_s)
        numbers |= {"first_s": moments.first_s, "next_s": moments.next_s}
        rows, *own = in_slots.columns()
        with whole_file(folder / SLOTS / part.path.name) as file:
            write_frame(file, pl.DataFrame(dict(zip(COLUMNS, (ids[rows], *own), strict=True))))
    known = {name: pl.Series(np.where(np.isfinite(values), values, np.nan)).fill_nan(None)
             for name, values in numbers.items()}
    if whole:
        known["visits"] = pl.Series(contacts).cast(pl.Int64)
    with whole_file(folder / part.path.name) as file:
        write_frame(file, pl.DataFrame({"id": ids, **known}))
