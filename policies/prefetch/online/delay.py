"""Online retrieval of feeds with the least delay: always retrieve the feeds whose retrieval saves most delay.

A feed with intensity lambda(t) was last retrieved at a, so Lambda = Lambda(a, t) postings are expected to wait. By
theorem 3 the best gap after a retrieval at t is Lambda / lambda(t); without this retrieval each waiting posting would
wait about that much longer. The index of a feed is the delay saved,

    w Lambda(a, t)^2 / lambda(t).

At a constant rate the index is w lambda (t - a)^2, which by theorem 1 has the same value for all feeds when they are
retrieved. The index increases when the rate drops, at the end of a feed's active hours, and is small while the rate is
high: so retrievals settle at the best times of the day without a plan. Rates may change after every retrieval.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", theorems 1 and 3; the index is ours.
"""

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.units import BINS, DAY_S, HOUR_S, FloatArray, IntArray

LEAST_SHARE = 0.2
"""The least lambda(t), as a share of its mean over the day, so that the index stays bounded in quiet hours. Between
0.05 and 1 the delays on recorded postings differ by some five percent."""


class DelayIndex:
    """The index of feeds 0 to n-1, each with a mean rate, a daily profile and its last retrieval.

    `take` costs O(n), so it is meant to be called every few minutes, for all retrievals due by then.
    """

    def __init__(self, rates_per_hour: ArrayLike, profiles: FloatArray, retrieved_s: ArrayLike,
                 weights: ArrayLike | None = None) -> None:
        """Start with n feeds.

        `rates_per_hour` and `weights` are (n,), 0 or more; `profiles` (n, 24) is the share of postings in each hour of
        the UTC day; `retrieved_s` (n,) is finite. Raises ValueError for other shapes or values.
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
        """(n,) the expected postings from the epoch to the last retrieval, in units of a day's postings."""

    def index(self, now_s: float) -> FloatArray:
        """(n,) the index of each feed, in postings times hours."""
        hour = int(now_s % DAY_S // HOUR_S)
        waiting = self._now(now_s) - self._retrieved
        return np.asarray(self._weights * self._rates * (waiting * BINS) ** 2 / self._relative[hour])

    def take(self, now_s: float, number: int) -> IntArray:
        """Return the `number` feeds with the largest index, ascending, or all; they count as retrieved at `now_s`."""
        index = self.index(now_s)
        first = index.size - min(number, index.size)
        taken = np.sort(np.argpartition(index, first)[first:]) if first < index.size else np.empty(0, dtype=np.intp)
        self._retrieved[taken] = self._now(now_s)[taken]
        return taken

    def learn(self, feeds: IntArray, rates_per_hour: FloatArray) -> None:
        """Set the mean rates of some feeds."""
        self._rates[feeds] = rates_per_hour

    def _now(self, now_s: float) -> FloatArray:
        hour = int(now_s % DAY_S // HOUR_S)
        return np.asarray(now_s // DAY_S + self._before[hour] + self._shares[hour] * (now_s % HOUR_S / HOUR_S))
