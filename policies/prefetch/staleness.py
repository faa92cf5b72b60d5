"""A(x): the share of a period for which a copy is expected to be stale, refreshed x times in it at the best moments.

Under a law of update intervals those are spread evenly. `interval` (the paper): the copy is current at time 0 and x
visits cut the period into x+1 intervals. `periodic`: the plan repeats, and x visits make x intervals; A(0) = 1. For
pages that are updated at known moments see `quasideterministic`.

Source: Wolf et al., "Optimal crawling strategies for web search engines", equations 3, 4 and 14, section 2.3.2.
"""

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.models.renewal import RenewalLaw
from bestbefore.policies.prefetch.cubics import FloatArray
from bestbefore.policies.prefetch.quasideterministic import Boundary


def staleness(law: RenewalLaw, visits: ArrayLike, period: float, boundary: Boundary) -> FloatArray:
    """A(x) for each number of visits x >= 0, of any shape; the period is in the unit of the law. Convex, falling."""
    intervals = np.asarray(visits, dtype=np.float64) + (1.0 if boundary == "interval" else 0.0)
    some = np.maximum(intervals, 1.0)
    return np.where(intervals >= 1.0, some * law.stale_time(period / some) / period, 1.0)


def gains(law: RenewalLaw, most: int, period: float, boundary: Boundary) -> FloatArray:
    """(most,) the first differences A(x) - A(x+1), x = 0 ... most-1: what each visit gains. They do not rise."""
    return -np.diff(staleness(law, np.arange(most + 1), period, boundary))


def ideal_times(visits: int, period: float, boundary: Boundary) -> FloatArray:
    """(visits,) the moments in [0, period) at which A(x) is reached; `periodic`: any common shift is as good."""
    if boundary == "interval":
        return np.arange(1.0, visits + 1.0) * (period / (visits + 1))
    return np.arange(float(visits)) * (period / max(visits, 1))
