"""The delays of postings and the numbers of retrievals under schedules of many feeds.

A posting is retrieved at the first retrieval at or after it. There are three kinds of `Schedules`, which compute the
delays of all postings of all feeds at once; `policy_retrievals_s` makes the list of retrievals of a policy.

Source: Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts", definition 1. Times are seconds since any
common beginning, 0 or more.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S, FloatArray, IntArray
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Policy


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Postings of F feeds, numbered from 0."""

    times_s: FloatArray
    """(n,) ascending for each feed."""
    feeds: IntArray
    """(n,) the feed of each posting, ascending."""

    @classmethod
    def of(cls, times_s: Sequence[FloatArray]) -> Self:
        """Make postings from the times of each feed."""
        numbers = [times.size for times in times_s]
        return cls(np.concatenate([np.empty(0), *times_s]), np.repeat(np.arange(len(numbers)), numbers))

    def __len__(self) -> int:
        return len(self.times_s)

    def between(self, start_s: float, end_s: float) -> "Postings":
        """Return the postings in [start_s, end_s)."""
        kept = (self.times_s >= start_s) & (self.times_s < end_s)
        return Postings(self.times_s[kept], self.feeds[kept])


class Schedules(Protocol):
    """The interface of schedules: the retrieval times of F feeds."""

    def delays_s(self, postings: Postings) -> FloatArray:
        """(n,) the delay of each posting; infinite if no retrieval follows."""

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        """(F,) the number of retrievals of each feed in [start_s, end_s)."""


@dataclass(frozen=True, slots=True, eq=False)
class Spaced:
    """Evenly spaced retrievals of each feed, for all times."""

    first_s: FloatArray
    """(F,) the time of one retrieval."""
    spacing_s: FloatArray
    """(F,) above 0; infinite: never retrieved."""

    def delays_s(self, postings: Postings) -> FloatArray:
        spacing = self.spacing_s[postings.feeds]
        ever = np.isfinite(spacing)
        delays = np.full(len(postings), np.inf)
        # np.mod of a tiny negative number may round up to the spacing.
        waited = np.mod(self.first_s[postings.feeds[ever]] - postings.times_s[ever], spacing[ever])
        delays[ever] = np.where(waited < spacing[ever], waited, 0.0)
        return delays

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        ever = np.isfinite(self.spacing_s)
        first = np.where(ever, self.first_s, 0.0)
        spacing = np.where(ever, self.spacing_s, 1.0)
        number = np.ceil((end_s - first) / spacing) - np.ceil((start_s - first) / spacing)
        return np.where(ever, number, 0.0).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Recurrent:
    """Retrievals of each feed at the same points of every period."""

    points_s: Sequence[FloatArray]
    """The points of each feed, ascending in [0, period); empty: never retrieved."""
    period_s: float | FloatArray
    """The period of all feeds, or (F,) of each."""

    def delays_s(self, postings: Postings) -> FloatArray:
        periods = self._periods_s
        clock = postings.times_s % periods[postings.feeds]
        first = np.array([points[0] if points.size else np.inf for points in self.points_s])
        return _waiting_s(clock, postings.feeds, self.points_s, first + periods)

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        return np.array([
            int(np.sum(np.ceil((end_s - points) / period) - np.ceil((start_s - points) / period)))
            for points, period in zip(self.points_s, self._periods_s.tolist(), strict=True)
        ])

    @property
    def _periods_s(self) -> FloatArray:
        return np.broadcast_to(np.asarray(self.period_s, dtype=np.float64), (len(self.points_s),))


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Retrievals of each feed at listed times."""

    moments_s: Sequence[FloatArray]
    """The times of each feed, ascending."""

    def delays_s(self, postings: Postings) -> FloatArray:
        return _waiting_s(postings.times_s, postings.feeds, self.moments_s, np.full(len(self.moments_s), np.inf))

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        return np.array([int(np.diff(moments.searchsorted((start_s, end_s)))[0]) for moments in self.moments_s])


def _waiting_s(
    times_s: FloatArray, feeds: IntArray, moments_s: Sequence[FloatArray], afterwards_s: FloatArray
) -> FloatArray:
    """(n,) the time from each posting to the next retrieval of its feed; `afterwards_s` (F,) follows the last one."""
    following = afterwards_s[feeds]
    starts = np.searchsorted(feeds, np.arange(len(moments_s) + 1))
    for feed, moments in enumerate(moments_s):
        part = slice(starts[feed], starts[feed + 1])
        if moments.size and part.start < part.stop:
            place = moments.searchsorted(times_s[part])
            later = place == moments.size
            following[part] = np.where(later, following[part], moments[np.where(later, 0, place)])
    return np.asarray(following - times_s)


def policy_retrievals_s(
    policy: Policy, history: History, first_s: float, end_s: float, min_interval_s: float
) -> FloatArray:
    """Return the retrieval times of a feed under a validation policy, from `first_s` on.

    After a retrieval at t the next one is at max(expiry, t + min_interval_s), `min_interval_s` > 0. The last one is the
    first at or after `end_s`, or the one with an infinite expiry. The policy knows all postings up to t, since items
    have dates, and the outcome of its last verdict if it keeps a state.
    """
    moments = [first_s]
    seen = int(history.times_s.searchsorted(first_s, side="right"))
    verdict = policy.verdict(history, None, first_s)
    while moments[-1] < end_s:
        t = max(verdict.expiry_s, moments[-1] + min_interval_s)
        if math.isinf(t):
            break
        moments.append(t)
        posted = int(history.times_s.searchsorted(t, side="right"))
        outcome = None if verdict.state is None else ContactOutcome(verdict.state, posted > seen)
        seen = posted
        verdict = policy.verdict(history, None, t, outcome)
    return np.array(moments)


@dataclass(frozen=True, slots=True)
class Measured:
    """The number of retrievals and the delays in an interval of time."""

    retrievals_per_day: float
    """The mean number of retrievals of a feed per day."""
    mean_s: float
    """The mean delay of a posting; NaN without postings."""
    mean_of_feeds_s: float
    """The mean over feeds with postings of the mean delay of their postings."""
    max_s: float
    """The largest delay."""
    deviation_s: float
    """The standard deviation of the delays."""
    never: int
    """The number of postings that no retrieval follows; they count as retrieved at the end."""

    @classmethod
    def of(cls, schedules: Schedules, postings: Postings, feeds: int, start_s: float, end_s: float) -> Self:
        """Measure the postings of F = `feeds` feeds in [start_s, end_s), which may be retrieved after its end."""
        delays = schedules.delays_s(postings)
        never = np.isinf(delays)
        delays[never] = end_s - postings.times_s[never]
        per_day = float(schedules.retrievals(start_s, end_s).sum()) / feeds / ((end_s - start_s) / DAY_S)
        if not len(postings):
            return cls(per_day, math.nan, math.nan, math.nan, math.nan, 0)
        numbers = np.bincount(postings.feeds, minlength=feeds)
        own = np.bincount(postings.feeds, delays, feeds)[numbers > 0] / numbers[numbers > 0]
        return cls(
            per_day, float(delays.mean()), float(own.mean()), float(delays.max()), float(delays.std()), int(never.sum())
        )
