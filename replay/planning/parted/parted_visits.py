"""The optimal plan in whole numbers of visits to objects in parts; see `discrete.best`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.owned import owners_of_all
from bestbefore.policies.prefetch.allocation.parts import Derived
from bestbefore.policies.prefetch.checked import IntArray, RowError, checked_bounds
from bestbefore.policies.prefetch.discrete.best import UNBOUNDED, visit_shares
from bestbefore.policies.prefetch.discrete.owned_visits import (
    OwnerIds,
    largest_of_owner,
    lowered_most,
    owners_above,
    refuse_needy_owner,
    visit_by,
)
from bestbefore.policies.prefetch.discrete.part_visits import VisitColumns, VisitShare
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary
from bestbefore.policies.units import FloatArray
from bestbefore.replay.planning.parted.part_files import FileParts, read_columns
from bestbefore.replay.planning.whole_visits import (
    gains_for,
    least_visits,
    needing,
    refuse_small_budget,
    whole_budget,
)
from bestbefore.replay.traces.errors import TraceError


@dataclass(frozen=True, slots=True)
class Visiting:
    """What is planned in whole numbers: an objective, and whether the plan repeats."""

    objective: str
    boundary: Boundary
    of_owner: int | None = None
    """The most visits to the objects of one owner together."""

    def bounds(self, columns: PartColumns) -> tuple[IntArray, IntArray]:
        """(n,) and (n,) the least and the most visits. Raises a `RowError` for a bound that is not whole."""
        minimum = 0.0 if columns.minimum is None else columns.minimum
        maximum = np.inf if columns.maximum is None else columns.maximum
        least, most = checked_bounds(minimum, np.minimum(maximum, UNBOUNDED), len(columns))
        return least_visits(self.objective, self.boundary, columns.rates, columns.weights, least, most), most

    def columns(self, spare: int, above: Sequence[OwnerIds], columns: PartColumns) -> VisitColumns:
        """Return the gains of a part where `spare` visits beyond the minimums are divided among all objects.

        `above` has for each part the owners who would have more than `of_owner` visits.
        """
        least, most = self.bounds(columns)
        most = np.minimum(most, least + spare)
        gains = gains_for(self.objective, columns.rates, columns.weights, self.boundary)
        if self.of_owner is not None and (own := above[columns.number]).size:
            most = lowered_most(visit_by(gains), least, most, owners_of_all(columns), own, self.of_owner)
        return VisitColumns(gains, least, most, keeps=True)


@dataclass(frozen=True, slots=True)
class VisitDivision:
    """A budget divided among all parts in whole numbers; see `allocation.parts.Division`."""

    visiting: Visiting
    spare: int
    shares: tuple[VisitShare, ...]
    above: tuple[OwnerIds, ...] = ()

    def __call__(self, columns: PartColumns) -> FloatArray:
        share = self.shares[columns.number]
        return self.visiting.columns(self.spare, self.above, columns).visits(share).astype(np.float64)


class VisitDivisions:
    """The divisions of budgets among the objects of parts in whole numbers."""

    def __init__(self, files: FileParts, visiting: Visiting, n: int) -> None:
        """`n` is the number of objects. The objects of an owner are in one part.

        Raises TraceError for the first bound that is not whole, and ValueError for least visits of an owner that add
        up to more than it may have.
        """
        self._files, self._visiting, self._n = files, visiting, n
        least, needs, largest = zip(*files.each(partial(_counted, visiting), files.paths), strict=True)
        self._least, self._needing = sum(least), sum(needs)
        if visiting.of_owner is not None:
            refuse_needy_owner(max(largest), visiting.of_owner)

    def __call__(self, budget: float) -> VisitDivision:
        """Divide a budget. Raises ValueError if it is no whole number or too small."""
        total, visiting = whole_budget(budget), self._visiting
        if visiting.objective != "freshness" and visiting.boundary == "periodic":
            refuse_small_budget(visiting.objective, budget, self._needing, self._least)
        spare = total - self._least
        if spare < 0:
            raise ValueError(f"the budget is {total} visits, but the least numbers of visits add up to {self._least}")
        above = tuple(np.empty(0, dtype=np.intp) for _ in self._files.paths)
        while True:
            parts = Derived(self._files, partial(visiting.columns, spare, above))
            division = VisitDivision(visiting, spare, tuple(visit_shares(parts, self._n, spare)), above)
            if visiting.of_owner is None:
                return division
            more = self._files.ask(partial(_owners_above, division, visiting.of_owner))
            if not any(own.size for own in more):
                return division
            above = tuple(np.union1d(*pair) for pair in zip(above, more, strict=True))


def _owners_above(division: VisitDivision, of_owner: int, columns: PartColumns) -> OwnerIds:
    return owners_above(division(columns).astype(np.int64), owners_of_all(columns), of_owner)


def _counted(visiting: Visiting, path: Path) -> tuple[int, int, int]:
    """Return for a part the sum of the least visits, the number of objects that need one, and the most of an owner."""
    owned = visiting.of_owner is not None
    columns = read_columns(path, owned=owned)
    try:
        least, _ = visiting.bounds(columns)
    except RowError as error:
        raise TraceError(f"{path}: row {error.row + 1}: {error.problem}") from None
    largest = int(largest_of_owner(least, owners_of_all(columns))) if owned else 0
    return int(least.sum()), int(needing(columns.rates, columns.weights).sum()), largest
