"""The best visits to objects each with a law of its own, however many visits that may be."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.models.renewal.laws import Poisson, RenewalLaw
from bestbefore.policies.prefetch.checked import IntArray, checked_bounds, checked_numbers
from bestbefore.policies.prefetch.discrete.best import UNBOUNDED, best_visits
from bestbefore.policies.prefetch.discrete.gains import Gains, MixedGains, PoissonGains, TabulatedGains
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates

FIRST_WIDTH = 8
"""So many visits are tabulated at first; four times as many for objects that are visited so often."""


def best_visits_of_laws(
    laws: Sequence[RenewalLaw | PotentialUpdates],
    weights: ArrayLike,
    budget: int,
    period: float,
    boundary: Boundary,
    minimum: ArrayLike = 0,
    maximum: ArrayLike = UNBOUNDED,
) -> IntArray:
    """Return the best visits, as `best.best_visits` does, for objects of one law each.

    The period is in the unit of the laws.

    Poisson laws need no table. Of the others A is tabulated as far as it is needed: where an object uses its table up,
    the table grows and the visits are divided again. What no object uses up cannot change the answer. With as many
    visits as potential updates, which have the same period, there is nothing left to gain.
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
