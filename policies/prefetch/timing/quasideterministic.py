"""The crawl times of a page that may be updated at known moments only (quasi-deterministic updates).

Source: Wolf et al., "Optimal crawling strategies for web search engines" (`crawling`), section 2.3.3. An optimal crawl
is made at a potential update, since waiting gains nothing. Equation 18 as printed multiplies the staleness of an
interval by u_j; the time average needs the length (u_(j+1) - u_j) / T instead, with u_(Q+1) = T. The paper's y_0 and
k_0 (a crawl at time 0) are a potential update at time 0 here.

The paper uses a greedy algorithm and calls exact methods slow. But the staleness between two consecutive crawls has the
Monge property, since a copy with fewer potential updates since its crawl is less often stale. So dynamic programming
over the next crawl is exact in O(x Q^2), and the least staleness is convex in the number of crawls x.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.timing.cuts import circle_cuts, line_cuts
from bestbefore.policies.units import FloatArray, IntArray

Boundary = Literal["interval", "periodic"]
"""`interval` (the paper's): the copy is current at time 0, and the plan ends with the period. `periodic`: the plan
repeats, so that at time 0 the copy is that of the last crawl; without any crawl it is always stale."""


@dataclass(frozen=True, slots=True, eq=False)
class PotentialUpdates:
    """Q moments in [0, period) at which a page may be updated, each with the probability of an update."""

    times: FloatArray
    """(Q,) ascending, in the unit of the period."""
    probabilities: FloatArray
    """(Q,) in [0, 1]."""
    period: float

    @classmethod
    def of(cls, times: ArrayLike, probabilities: ArrayLike, period: float) -> Self:
        """Make checked ones; ValueError for times that do not ascend, and for the first invalid probability."""
        t, p = np.asarray(times, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
        if t.ndim != 1 or t.shape != p.shape:
            raise ValueError(f"{t.size} potential updates have {p.size} probabilities")
        if not np.all((t >= 0.0) & (t < period)) or not np.all(np.diff(t) > 0.0):
            raise ValueError(f"potential updates ascend in [0, {period:g}), not {t.tolist()}")
        for j in np.flatnonzero(~((p >= 0.0) & (p <= 1.0)))[:1].tolist():
            raise ValueError(f"the probability of potential update {j} is {p[j]}: expected one in [0, 1]")
        return cls(t, p, float(period))


def staleness(updates: PotentialUpdates, crawled: IntArray, boundary: Boundary) -> float:
    """The share of the period for which a copy crawled at some of the updates is expected to be stale (eq. 17 and 18).

    `crawled` are the ascending indices of these potential updates.
    """
    return _staleness(_stale_shares(updates, boundary), crawled, boundary)


def optimal_crawls(updates: PotentialUpdates, crawls: int, boundary: Boundary) -> IntArray:
    """(crawls,) the ascending indices of the potential updates at which to crawl for the least staleness.

    Raises ValueError unless 0 <= crawls <= Q.
    """
    _check(updates, crawls)
    if boundary == "interval":
        return line_cuts(_stale_shares(updates, boundary), crawls)[1][-1] - 1
    return circle_cuts(_stale_shares(updates, boundary), crawls) if crawls else np.empty(0, dtype=np.intp)


def least_staleness(updates: PotentialUpdates, boundary: Boundary) -> FloatArray:
    """(Q+1,) A(x), the least staleness with x = 0 ... Q crawls: non-increasing, convex, and 0 at Q."""
    shares = _stale_shares(updates, boundary)
    numbers = range(updates.times.size + 1)
    if boundary == "interval":
        return line_cuts(shares, updates.times.size)[0]
    return np.array([_staleness(shares, optimal_crawls(updates, x, boundary), boundary) for x in numbers])


def _check(updates: PotentialUpdates, crawls: int) -> None:
    if not 0 <= crawls <= updates.times.size:
        raise ValueError(f"{crawls} crawls at {updates.times.size} potential updates: expected 0 to as many")


def _stale_shares(updates: PotentialUpdates, boundary: Boundary) -> FloatArray:
    """(N, N): the expected stale time, as a share of the period, between a crawl at node a and the next at node b > a.

    With `interval` N = Q + 2, and the ends of the period are the first and the last node. With `periodic` N = 2Q + 1:
    the potential updates of two periods and the first of a third.
    """
    t, kept = updates.times, 1.0 - updates.probabilities
    if boundary == "interval":
        t, kept = np.concatenate(([0.0], t, [updates.period])), np.concatenate(([1.0], kept, [1.0]))
    else:
        t = np.concatenate((t, t + updates.period, t[:1] + 2.0 * updates.period))
        kept = np.concatenate((kept, kept, kept[:1]))
    fresh = np.cumprod(np.where(np.tri(t.size, dtype=np.bool_), 1.0, kept), axis=1)
    shares = np.zeros_like(fresh)
    shares[:, 1:] = np.cumsum((1.0 - fresh[:, :-1]) * (np.diff(t) / updates.period), axis=1)
    return shares


def _staleness(shares: FloatArray, crawled: IntArray, boundary: Boundary) -> float:
    if boundary == "interval":
        nodes = np.concatenate(([0], crawled + 1, [shares.shape[0] - 1]))
    elif crawled.size == 0:
        # Without any crawl the copy has been stale since the first update.
        return float(np.any(shares > 0.0))
    else:
        nodes = np.append(crawled, crawled[0] + shares.shape[0] // 2)
    return float(np.sum(shares[nodes[:-1], nodes[1:]]))
