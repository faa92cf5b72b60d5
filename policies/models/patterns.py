"""Daily patterns of feeds: profiles, clusters of profiles, and the most likely cluster of a feed with few postings.

A profile is (24,) shares of postings in each UTC hour bin, 0 or more, with the sum 1.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", section 4.3 and figures 10 and 12: hourly
counts summed over some weeks, k-means with K = 12. Smoothing and the assignment by likelihood are ours; the paper
observes every feed for two weeks.
"""

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray, IntArray

CLUSTERS = 12
"""K of the paper."""
ITERATIONS = 50
"""The most iterations of k-means from one start; profiles converge within about twenty."""


def hourly_counts(times_s: FloatArray) -> IntArray:
    """(24,) the number of postings in each hour bin."""
    return np.bincount((times_s % DAY_S // HOUR_S).astype(np.intp), minlength=BINS)


def profiles(counts: NDArray[np.number], prior: FloatArray | None = None, strength: float = 0.0) -> FloatArray:
    """(F, 24) the profile of each row of `counts` (F, 24), (n_k + strength * prior_k) / (n + strength).

    `prior` is a profile (24,), or one for each row (F, 24), and by default uniform; it counts as `strength` >= 0
    postings. A row without postings gets the prior.
    """
    pattern = np.full(BINS, 1.0 / BINS) if prior is None else prior
    number = np.sum(counts, axis=1, keepdims=True)
    shares = (counts + strength * pattern) / np.maximum(number + strength, np.finfo(np.float64).tiny)
    return np.where(number + strength > 0.0, shares, pattern)


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Groups of similar profiles, the largest first."""

    centroids: FloatArray
    """(K, 24): the mean profile of each cluster."""
    sizes: IntArray
    """(K,) the number of feeds in each cluster."""
    member: IntArray
    """(F,) the cluster of each feed."""


def clusters(feed_profiles: FloatArray, rng: np.random.Generator, number: int = CLUSTERS, starts: int = 4) -> Clusters:
    """K-means clusters of profiles (F, 24): the best, by squared distance, of `starts` random starts (k-means++).

    At most `number` distinct profiles are clusters as they are. Raises ValueError where `number` or the number of feeds
    is less than 1, and if every start leaves a cluster empty.
    """
    if number < 1 or len(feed_profiles) < 1:
        raise ValueError(f"{number} clusters of {len(feed_profiles)} feeds: expected 1 or more of each")
    # Imported here: the import takes half a second, and the proxy uses profiles but no clusters.
    from scipy.cluster.vq import ClusterError, kmeans2

    distinct, member = np.unique(feed_profiles, axis=0, return_inverse=True)
    if len(distinct) <= number:
        return _largest_first(distinct, member)
    least = np.inf
    for _ in range(starts):
        with contextlib.suppress(ClusterError):
            centroids, labels = kmeans2(feed_profiles, number, ITERATIONS, minit="++", missing="raise", rng=rng)
            distance = float(np.sum((feed_profiles - centroids[labels]) ** 2))
            if distance < least:
                least, found, member = distance, centroids, labels
    if not np.isfinite(least):
        raise ValueError(f"k-means left one of {number} clusters empty {starts} times; ask for fewer clusters")
    return _largest_first(found, member)


def _largest_first(centroids: FloatArray, member: IntArray) -> Clusters:
    sizes = np.bincount(member, minlength=len(centroids))
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return Clusters(centroids[order], sizes[order], rank[member])


def most_likely_cluster(counts: NDArray[np.number], found: Clusters) -> IntArray:
    """(F,) the cluster from which the postings counted in each row (F, 24) come most probably.

    This maximises the posterior log(size) + sum_k n_k log p_k, where p_k is the centroid with one uniform feed added to
    its members: otherwise a single posting in an hour in which no member posted would exclude a cluster. A feed without
    postings gets the largest cluster; among equally probable clusters the larger one is taken.
    """
    sizes = found.sizes[:, None]
    shares = (found.centroids * sizes + 1.0 / BINS) / (sizes + 1.0)
    return np.argmax(counts @ np.log(shares).T + np.log(found.sizes), axis=1)
