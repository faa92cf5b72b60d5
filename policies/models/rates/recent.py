"""The future rate of postings, estimated from the postings of the last week, day and hours.

The mean over a window is the best estimate of a constant rate. Feeds have bursts and pauses: a feed without a posting
in a week may post again, and a feed that has just posted is likely to post again soon. The estimate is therefore

    rate = b_0 + sum_k b_k n_k,        b_k >= 0,

where n_k is the number of postings in the k-th window before now. The b are fitted by Poisson regression to the
postings that followed such windows in the past, over all feeds and moments. With one window this shrinks each feed's
rate towards the mean of all feeds, by as much as the data support.

The estimate can be used for allocation like any rate: where lambda is uncertain, the expected delay w E[lambda] / (2 f)
is least at f ~ sqrt(w E[lambda]).

Source: ours; Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", take the mean of two weeks.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.units import DAY_S, FloatArray

WEEK_S = (7 * DAY_S,)
"""One window, which smooths bursts."""
PASSES = 500
CONVERGED = 1e-7
AT_LEAST = 0.5
"""Postings added to those that followed, spread evenly over all moments, so that no rate is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class RecentRates:
    """The coefficients b of the formula."""

    always_per_hour: float
    """b_0, above 0."""
    each_per_hour: FloatArray
    """(K,) b_k, 0 or more: the rate that each posting in a window adds."""

    @classmethod
    def fitted(cls, recent: ArrayLike, followed: ArrayLike, hours: ArrayLike) -> Self:
        """Fit the coefficients to m moments of any feeds.

        `recent` (m, K) is the number of postings in each window before the moment, `followed` (m,) the number in the
        `hours` (m,) after it.

        Expectation and maximisation keeps all b at 0 or more; a pass costs O(m K). Raises ValueError where the shapes
        differ, for numbers that are negative or not finite, and for 0 hours.
        """
        before, after = np.asarray(recent, dtype=np.float64), np.asarray(followed, dtype=np.float64)
        length = np.broadcast_to(np.asarray(hours, dtype=np.float64), after.shape)
        if before.ndim != 2 or after.shape != before.shape[:1] or not after.size:
            raise ValueError(f"{before.shape} recent postings for {after.shape} that followed")
        possible = all((np.isfinite(values) & (values >= 0.0)).all() for values in (before, after, length))
        if not (possible and length.all()):
            raise ValueError("postings are finite numbers of 0 or more, and hours of more than 0")
        exposed = np.column_stack((length, before * length[:, None]))
        after = after + AT_LEAST / after.size
        total = exposed.sum(axis=0)
        known = total > 0.0
        each = np.where(known, after.sum() / known.sum() / np.where(known, total, 1.0), 0.0)
        for _ in range(PASSES):
            share = exposed.T @ (after / (exposed @ each))
            following = np.where(known, each * share / np.where(known, total, 1.0), 0.0)
            change = float(np.sum(np.abs(following - each) * total)) / float(after.sum())
            each = following
            if change < CONVERGED:
                break
        return cls(float(each[0]), each[1:])

    def per_hour(self, recent: ArrayLike) -> FloatArray:
        """(n,) the future rates, postings per hour, of n feeds with `recent` (n, K) postings in the windows."""
        return np.asarray(self.always_per_hour + np.asarray(recent, dtype=np.float64) @ self.each_per_hour)
