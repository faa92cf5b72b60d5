"""Online retrieval of feeds for the least delay: at each moment those where a retrieval saves most waiting.

A feed with intensity lambda(t) was last retrieved at a, so Lambda = Lambda(a, t) postings are expected to wait. Were it
retrieved now, then by theorem 3 the gap that follows best is Lambda / lambda(t); without the retrieval each of the
waiting postings would wait about so much longer. So the index of a feed is what that saves,

    w Lambda(a, t)^2 / lambda(t).

At a constant rate it is w lambda (t - a)^2, which theorem 1 makes equal for all feeds at the moments of their
retrievals. Where the rate falls, at the end of the hours in which a feed posts, the index rises, and where it is about
to rise, the index is small: retrievals find the best moments of the day without being planned. Rates may be learnt
again after every retrieval.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", theorems 1 and 3; the index is ours.
"""

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray, IntArray

LEAST_SHARE = 0.2
"""lambda(t) counts as no less than this share of the mean over the day, lest a quiet hour outweigh everything. From
0.05 to 1 the delays on recorded postings differ by some five percent."""


class DelayIndex:
    """Feeds 0 to n-1, each with a mean rate, the hours of the day at which it posts, and its last retrieval.

    `take` costs O(n): call it every few minutes, for as many retrievals as are due by then.
    """

    def __init__(self, rates_per_hour: ArrayLike, profiles: FloatArray, retrieved_s: ArrayLike,
                 weights: ArrayLike | None = None) -> None:
        """Start with n feeds.

        Rates and weights (n,), 0 or more; `profiles` (n, 24), the share of each hour of the day (UTC) in the postings;
        `retrieved_s` (n,) finite. Raises ValueError for other shapes or values.
        """
        self._rates = np.array(rates_per_hour, dtype=np.float64)
        self._weights = np.ones(self._rates.size) if weights is None else np.array(weights, dtype=np.float64)
        if profiles.shape != (self._rates.size, BINS) or self._weights.shape != self._rates.shape:
            raise ValueError(f"{self._rates.size} rates, {self._weights.size} weights, {profiles.shape} profiles")
        for name, values in (("rate", self._rates), ("weight", self._weights)):
            for number in np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))[:1].tolist():
                raise ValueError(f"feed {number} has {name} {values[number]}, expected 0 or more")
        # by hour, since each moment needs one hour of all feeds
        self._shares = np.ascontiguousarray(profiles.T)
        self._before = np.concatenate((np.zeros((1, self._rates.size)), np.cumsum(self._shares, axis=0)))
        self._relative = np.maximum(self._shares * BINS, LEAST_SHARE)
        times = np.array(retrieved_s, dtype=np.float64)
        if times.shape != self._rates.shape or not np.isfinite(times).all():
            raise ValueError("each feed has a time of its last retrieval")
        hours = (times % DAY_S // HOUR_S).astype(np.intp)
        feeds = np.arange(times.size)
        self._retrieved = (
            times // DAY_S
            + self._before[hours, feeds] + self._shares[hours, feeds] * (times % HOUR_S / HOUR_S)
        )
        """At the last retrieval: the days' worth of postings since the beginning of time."""

    def index(self, now_s: float) -> FloatArray:
        """(n,) the index of each feed, in posting hours."""
        hour = int(now_s % DAY_S // HOUR_S)
        waiting = self._now(now_s) - self._retrieved
        return np.asarray(self._weights * self._rates * (waiting * BINS) ** 2 / self._relative[hour])

    def take(self, now_s: float, number: int) -> IntArray:
        """The `number` feeds of the largest index, ascending, or all; they are taken as retrieved at `now_s`."""
        index = self.index(now_s)
        first = index.size - min(number, index.size)
        taken = np.sort(np.argpartition(index, first)[first:]) if first < index.size else np.empty(0, dtype=np.intp)
        self._retrieved[taken] = self._now(now_s)[taken]
        return taken

    def learn(self, feeds: IntArray, rates_per_hour: FloatArray) -> None:
        """The mean rates of some feeds from now on."""
        self._rates[feeds] = rates_per_hour

    def _now(self, now_s: float) -> FloatArray:
        hour = int(now_s % DAY_S // HOUR_S)
        return np.asarray(now_s // DAY_S + self._before[hour] + self._shares[hour] * (now_s % HOUR_S / HOUR_S))
