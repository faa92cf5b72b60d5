"""The optimal numbers of visits to objects with one law each, with tables that grow as far as needed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.models.renewal.laws import Poisson, RenewalLaw
from bestbefore.policies.prefetch.checked import IntArray, checked_bounds, checked_numbers
from bestbefore.policies.prefetch.discrete.best import UNBOUNDED, best_visits
from bestbefore.policies.prefetch.discrete.gains import Gains, MixedGains, PoissonGains, TabulatedGains
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates

FIRST_WIDTH = 8
"""The visits tabulated at first; the table of an object that uses all of them becomes four times as wide."""


def best_visits_of_laws(
    laws: Sequence[RenewalLaw | PotentialUpdates],
    weights: ArrayLike,
    budget: int,
    period: float,
    boundary: Boundary,
    minimum: ArrayLike = 0,
    maximum: ArrayLike = UNBOUNDED,
) -> IntArray:
    """Return the optimal visits, as `best.best_visits`, for objects of one law each; the period is in their unit.

    Poisson laws need no table. For the other laws A is tabulated as far as needed: if an object gets as many visits as
    its table has, the table is extended and the visits are allocated again. A table that is not used up is long enough.
    Potential updates, which must have the same period, need no more visits than there are updates.
    """
    checked_weights = checked_numbers(weights, "the weight")
    if len(laws) != len(checked_weights):
        raise ValueError(f"{len(laws)} laws but {len(checked_weights)} weights, expected as many")
    least, most = checked_bounds(minimum, maximum, len(laws))
    random = np.array([isinstance(law, Poisson) for law in laws], dtype=np.bool_)
    moments = np.array([law.times.size if isinstance(law, PotentialUpdates) else 0 for law in laws], dtype=np.int64)
    widths = np.where(random, 0, np.where(moments > 0, moments, np.maximum(least + 1, FIRST_WIDTH)))
    parts: dict[int, tuple[IntArray, Gains]] = {}
    changed = set(widths.tolist())
    while True:
        for width in changed:
            objects = np.flatnonzero(widths == width)
            own = checked_weights[objects]
            if width == 0:
                rates = [law.rate * period for law in laws if isinstance(law, Poisson)]
                parts[0] = objects, PoissonGains(rates, own, boundary)
            else:
                some = [laws[i] for i in objects.tolist()]
                parts[width] = objects, TabulatedGains.of_laws(some, own, period, boundary, width)
        visits = best_visits(MixedGains(list(parts.values())), budget, least, most)
        used_up = ~random & (moments == 0) & (visits >= widths) & (visits < most)
        if not used_up.any():
            return visits
        before = set(widths[used_up].tolist())
        widths[used_up] = 4 * widths[used_up]
        changed = before | set(widths[used_up].tolist())
