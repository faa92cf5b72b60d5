"""The expected staleness A(x): the share of a period for which a copy is stale, with x visits at the best moments.

Under a law of update intervals the best moments are evenly spaced. With the boundary `interval` (the paper's) the copy
is current at time 0 and x visits cut the period into x+1 intervals. With `periodic` the plan repeats, and x visits make
x intervals; A(0) = 1. For pages that are updated at known moments see `quasideterministic`.

Source: Wolf et al., "Optimal crawling strategies for web search engines", equations 3, 4 and 14, section 2.3.2.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.models.renewal.laws import (
    Pareto,
    Poisson,
    RenewalLaw,
    Weibull,
    pareto_stale_time,
    poisson_stale_time,
    weibull_stale_time,
)
from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, least_staleness
from bestbefore.policies.units import FloatArray


def staleness(law: RenewalLaw, visits: ArrayLike, period: float, boundary: Boundary) -> FloatArray:
    """A(x), convex and decreasing, for `visits` x >= 0 of any shape; the period is in the unit of the law."""
    intervals = np.asarray(visits, dtype=np.float64) + (1.0 if boundary == "interval" else 0.0)
    some = np.maximum(intervals, 1.0)
    return np.where(intervals >= 1.0, some * law.stale_time(period / some) / period, 1.0)


def staleness_table(
    laws: Sequence[RenewalLaw | PotentialUpdates], most: int, period: float, boundary: Boundary
) -> FloatArray:
    """(n, most+1): A(0) ... A(most) of each law, computed for all laws of one kind at once.

    Potential updates must have the same period; A is 0 from as many visits on as there are potential updates.
    """
    table = np.zeros((len(laws), most + 1))
    intervals = np.arange(most + 1) + (1.0 if boundary == "interval" else 0.0)
    some = np.maximum(intervals, 1.0)
    tau = period / some
    kinds: dict[type[RenewalLaw], dict[int, RenewalLaw]] = {}
    known: dict[PotentialUpdates, FloatArray] = {}
    for row, law in enumerate(laws):
        if isinstance(law, PotentialUpdates):
            if law not in known:
                known[law] = least_staleness(law, boundary)[: most + 1]
            table[row, : len(known[law])] = known[law]
        else:
            kinds.setdefault(type(law), {})[row] = law
    for kind, same in kinds.items():
        table[list(same)] = _stale_times(kind, list(same.values()), tau) * (some / period)
    table[:, intervals == 0.0] = 1.0
    return table


def _stale_times(kind: type[RenewalLaw], laws: Sequence[RenewalLaw], tau: FloatArray) -> FloatArray:
    """(n, times): the expected stale time under each law of one kind within each time."""
    if kind is Poisson:
        return poisson_stale_time(_column(laws, "rate"), tau)
    if kind is Weibull:
        return weibull_stale_time(_column(laws, "shape"), _column(laws, "scale"), tau)
    if kind is Pareto:
        return pareto_stale_time(_column(laws, "shape"), _column(laws, "scale"), tau)
    return np.array([law.stale_time(tau) for law in laws])


def _column(laws: Sequence[RenewalLaw], parameter: str) -> FloatArray:
    return np.array([[getattr(law, parameter)] for law in laws], dtype=np.float64)
