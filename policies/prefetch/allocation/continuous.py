"""Continuous allocations: a budget of contacts per period, divided among objects in real numbers.

Each allocation is called with `rates` (n,), updates per period, and `weights` (n,), both finite and >= 0, and a
`budget` > 0 of contacts per period. It returns the refreshes per period f, (n,) float64, with the sum `budget`. An
object with rate or weight 0 gets no refresh. Invalid values raise a `checked.RowError`. For objects in parts, `over`
returns the function that divides budgets among them; one machine's objects are one part.

Sources: Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers", sections 3, 5.3 and 6 (uniform,
proportional, freshness, age); Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", theorem 1 (delay).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.prefetch.allocation.cubics import chunks
from bestbefore.policies.prefetch.allocation.optimum import AgeDivisions, FreshnessDivisions, nothing
from bestbefore.policies.prefetch.allocation.parts import Divide, Division, InMemory, ObjectParts
from bestbefore.policies.prefetch.checked import checked, checked_budget
from bestbefore.policies.units import FloatArray

Share = Callable[[FloatArray, FloatArray], FloatArray]
"""(rates, weights) -> the shares of objects in any budget; all arrays are (n,)."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """A way to divide budgets."""

    over: Callable[[ObjectParts[PartColumns]], Divide]
    """Return the function that divides a budget among objects in parts."""

    def __call__(self, rates: ArrayLike, weights: ArrayLike | None, budget: float) -> FloatArray:
        """Return the refreshes per period, (n,)."""
        columns = PartColumns(*checked(rates, weights), keeps=True)
        return self.over(InMemory((columns,)))(checked_budget(budget))(columns)


class ProportionalDivisions:
    """The divisions in proportion to fixed shares; an object with rate or weight 0 gets none."""

    def __init__(self, share: Share, parts: ObjectParts[PartColumns]) -> None:
        self._share = share
        sums = parts.ask(partial(_largest_and_sum, share))
        self._largest = max((largest for largest, _ in sums), default=0.0)
        if self._largest > 0.0:
            self._sum = sum(total * (largest / self._largest) for largest, total in sums)

    def __call__(self, budget: float) -> Division:
        """Divide a budget > 0."""
        if not self._largest > 0.0:
            return nothing
        return partial(_in_proportion, self._share, self._largest, budget / self._sum)


def _largest_and_sum(share: Share, columns: PartColumns) -> tuple[float, float]:
    """The largest share, and the sum in units of it, so that it does not overflow."""
    shares = _shares(share, columns)
    largest = float(shares.max(initial=0.0))
    total = sum(float((shares[part] / largest).sum()) for part in chunks(len(shares))) if largest > 0.0 else 0.0
    columns.keep(share, shares)
    return largest, total


def _in_proportion(share: Share, largest: float, factor: float, columns: PartColumns) -> FloatArray:
    refreshes = columns.taken(share)
    if refreshes is None:
        refreshes = _shares(share, columns)
    refreshes /= largest
    refreshes *= factor
    return refreshes


def _shares(share: Share, columns: PartColumns) -> FloatArray:
    shares = np.empty(len(columns))
    for part in chunks(len(columns)):
        np.multiply(share(columns.rates[part], columns.weights[part]), columns.live(part), out=shares[part])
    return shares


def _equal(rates: FloatArray, _: FloatArray) -> FloatArray:
    return np.ones_like(rates)


def _of_rates(rates: FloatArray, _: FloatArray) -> FloatArray:
    return rates


def _of_roots(rates: FloatArray, weights: FloatArray) -> FloatArray:
    roots: FloatArray = np.sqrt(rates) * np.sqrt(weights)
    return roots


uniform = Allocation(partial(ProportionalDivisions, _equal))
"""The same number of refreshes for all objects."""
proportional = Allocation(partial(ProportionalDivisions, _of_rates))
"""f ~ lambda: the same r = lambda / f for all objects. Weights do not matter, unless they are 0."""
freshness = Allocation(FreshnessDivisions)
"""The refreshes with the greatest weighted mean freshness; objects that change too often get none."""
age = Allocation(AgeDivisions)
"""The refreshes with the least weighted mean age."""
delay = Allocation(partial(ProportionalDivisions, _of_roots))
"""f ~ sqrt(w lambda), the refreshes with the least weighted total delay of postings."""
