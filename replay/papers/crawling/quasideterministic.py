"""Quasi-deterministic pages whose potential updates are equally far apart and equally probable, many at once."""

import numpy as np

from bestbefore.policies.units import FloatArray

MOST_POTENTIAL = 48
"""Potential updates of a page in a day."""
AT_ONCE = 4_000_000
"""Numbers in the largest array."""


def quasideterministic_staleness(rates: FloatArray) -> FloatArray:
    """(n, MOST_POTENTIAL + 1) A(0), A(1), ... of each page at the best potential updates; 0 from Q crawls on.

    A page has Q = ceil(2 rate) evenly spaced potential updates, at most 48, each an update with probability
    min(rate / Q, 1). The result equals `timing.quasideterministic.least_staleness` for each page.
    """
    potential = np.clip(np.ceil(2.0 * rates), 1, MOST_POTENTIAL).astype(np.intp)
    table = np.zeros((len(rates), MOST_POTENTIAL + 1))
    for number in np.unique(potential).tolist():
        pages = np.flatnonzero(potential == number)
        for some in np.array_split(pages, -(-pages.size * (number + 1) ** 2 // AT_ONCE)):
            table[some, : number + 1] = _least(number, np.minimum(rates[some] / number, 1.0))
    return table


def _least(potential: int, probabilities: FloatArray) -> FloatArray:
    """(n, Q+1) A(0), ..., A(Q) for Q potential updates with `probabilities` (n,)."""
    passed = np.arange(potential + 1)
    stale = 1.0 - (1.0 - probabilities[:, None]) ** passed
    # From one crawl to that at the j-th potential update after it; the day begins as if after a crawl.
    until = np.cumsum(stale, axis=1) / potential
    # From a crawl that j potential updates follow to the end of the day, which is half as far from the last of them.
    to_end = until - stale / (2.0 * potential)
    later = passed[None, :] - passed[:, None]
    step = np.where(later > 0, until[:, np.maximum(later - 1, 0)], np.inf)
    least = np.full(stale.shape, np.inf)  # where the last crawl is: at the start of the day, or a potential update
    least[:, 0] = 0.0
    found = np.empty(stale.shape)
    for crawls in range(potential + 1):
        found[:, crawls] = (least + to_end[:, ::-1]).min(axis=1)
        least = (least[:, :, None] + step).min(axis=1)
    return found
