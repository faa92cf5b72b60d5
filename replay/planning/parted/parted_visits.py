"""The optimal plan in whole numbers of visits to objects in parts; see `discrete.best`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.parts import Derived
from bestbefore.policies.prefetch.checked import IntArray, RowError, checked_bounds
from bestbefore.policies.prefetch.discrete.best import UNBOUNDED, visit_shares
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

    def bounds(self, columns: PartColumns) -> tuple[IntArray, IntArray]:
        """(n,) and (n,) the least and the most visits. Raises a `RowError` for a bound that is not whole."""
        minimum = 0.0 if columns.minimum is None else columns.minimum
        maximum = np.inf if columns.maximum is None else columns.maximum
        least, most = checked_bounds(minimum, np.minimum(maximum, UNBOUNDED), len(columns))
        return least_visits(self.objective, self.boundary, columns.rates, columns.weights, least, most), most

    def columns(self, spare: int, columns: PartColumns) -> VisitColumns:
        """Return the gains of a part where `spare` visits beyond the minimums are divided among all objects."""
        least, most = self.bounds(columns)
        gains = gains_for(self.objective, columns.rates, columns.weights, self.boundary)
        return VisitColumns(gains, least, np.minimum(most, least + spare), keeps=True)


@dataclass(frozen=True, slots=True)
class VisitDivision:
    """A budget divided among all parts in whole numbers; see `allocation.parts.Division`."""

    visiting: Visiting
    spare: int
    shares: tuple[VisitShare, ...]

    def __call__(self, columns: PartColumns) -> FloatArray:
        share = self.shares[columns.number]
        return self.visiting.columns(self.spare, columns).visits(share).astype(np.float64)


class VisitDivisions:
    """The divisions of budgets among the objects of parts in whole numbers."""

    def __init__(self, files: FileParts, visiting: Visiting, n: int) -> None:
        """`n` is the number of objects. Raises TraceError for the first bound that is not whole."""
        self._files, self._visiting, self._n = files, visiting, n
        counted = files.each(partial(_counted, visiting), files.paths)
        self._least, self._needing = (sum(of_parts) for of_parts in zip(*counted, strict=True))

    def __call__(self, budget: float) -> VisitDivision:
        """Divide a budget. Raises ValueError if it is no whole number or too small."""
        total, visiting = whole_budget(budget), self._visiting
        if visiting.objective != "freshness" and visiting.boundary == "periodic":
            refuse_small_budget(visiting.objective, budget, self._needing, self._least)
        spare = total - self._least
        if spare < 0:
            raise ValueError(f"the budget is {total} visits, but the least numbers of visits add up to {self._least}")
        parts = Derived(self._files, partial(visiting.columns, spare))
        return VisitDivision(visiting, spare, tuple(visit_shares(parts, self._n, spare)))


def _counted(visiting: Visiting, path: Path) -> tuple[int, int]:
    """Return the sum of the least visits of a part, and the number of its objects that need one."""
    columns = read_columns(path)
    try:
        least, _ = visiting.bounds(columns)
    except RowError as error:
        raise TraceError(f"{path}: row {error.row + 1}: {error.problem}") from None
    return int(least.sum()), int(needing(columns.rates, columns.weights).sum())
