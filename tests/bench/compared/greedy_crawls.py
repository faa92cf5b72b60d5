"""The paper's greedy choice of crawls, with which the optimal one is compared."""

import numpy as np

from bestbefore.policies.prefetch.timing.quasideterministic import Boundary, PotentialUpdates, staleness
from bestbefore.policies.units import IntArray


def greedy_crawls(updates: PotentialUpdates, crawls: int, boundary: Boundary) -> IntArray:
    """Return crawls by the paper's greedy algorithm: always add the crawl that lowers the staleness most."""
    chosen = np.empty(0, dtype=np.intp)
    for _ in range(crawls):
        others = np.setdiff1d(np.arange(updates.times.size), chosen)
        plans = [np.sort(np.append(chosen, j)) for j in others]
        chosen = plans[int(np.argmin([staleness(updates, plan, boundary) for plan in plans]))]
    return chosen
