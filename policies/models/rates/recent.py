"""The rate of postings to come, by those of the last week, day and hours: feeds post in bursts and fall silent.

The mean over a window is the best estimate of a rate that does not change. Rates of feeds do: a feed without a posting
in a week may post again, and one that has just posted is likely to do so soon. So the rate to come is taken to be

    rate = b_0 + sum_k b_k n_k,        b_k >= 0,

where n_k are the postings in the k-th window before now, and the b are those under which what followed such windows in
the past was most probable (Poisson regression over all feeds and moments). With one window this draws each feed's rate
towards the mean of all, as far as the feeds themselves say that it should.

Divide visits by it as by any rate: where lambda is uncertain, the expected delay w E[lambda] / (2 f) is least at
f ~ sqrt(w E[lambda]). Ours; the paper `feeds` takes the mean of two weeks.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

WEEK_S = (7 * DAY_S,)
WEEK_TO_HOUR_S = (7 * DAY_S, DAY_S, 3 * HOUR_S, HOUR_S)
"""The second one follows bursts."""
PASSES = 500
CONVERGED = 1e-7
AT_LEAST = 0.5
"""Postings that are added to all that followed, evenly, so that no rate is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class RecentRates:
    """The b of the formula."""

    always_per_hour: float
    """b_0, above 0."""
    each_per_hour: FloatArray
    """(K,) b_k, 0 or more: the rate that each posting in a window adds."""

    @classmethod
    def fitted(cls, recent: ArrayLike, followed: ArrayLike, hours: ArrayLike) -> Self:
        """Fit to m moments of any feeds.

        The postings in the windows before, (m, K), and those in the `hours` (m,) after.

        By expectation and maximisation, which keeps all b at 0 or more. Costs O(m K) a pass. Raises ValueError where
        the shapes differ, for numbers that are negative or not finite, and for 0 hours.
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
        """(n,) the rates to come of feeds with these postings in the windows before now, (n, K)."""
        return np.asarray(self.always_per_hour + np.asarray(recent, dtype=np.float64) @ self.each_per_hour)
