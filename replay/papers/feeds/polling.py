"""Feeds that are retrieved at given moments: how long each posting waits, and how many retrievals that takes.

A posting is retrieved at the first retrieval at or after it. Moments of many feeds come as one of three `Schedules`,
which answer for all postings of all feeds at once; what a policy decides from contact to contact becomes a list of
moments by `policy_retrievals_s`, and so does what a live aggregator did.

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
    """(n,)"""
    feeds: IntArray
    """(n,) which feed posted each, never falling."""

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
    """The interface of schedules: when each of F feeds is retrieved."""

    def delays_s(self, postings: Postings) -> FloatArray:
        """(n,) from each posting to the first retrieval at or after it; infinite where none follows."""

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        """(F,) how many retrievals each feed has in [start_s, end_s)."""


@dataclass(frozen=True, slots=True, eq=False)
class Spaced:
    """A schedule of each feed at `first_s`, and every `spacing_s` before and after it; an infinite spacing: never."""

    first_s: FloatArray
    """(F,)"""
    spacing_s: FloatArray
    """(F,) above 0."""

    def delays_s(self, postings: Postings) -> FloatArray:
        spacing = self.spacing_s[postings.feeds]
        ever = np.isfinite(spacing)
        delays = np.full(len(postings), np.inf)
        # The remainder of a tiny negative number is rounded to the spacing itself.
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
    """A schedule of each feed at its own points of every period."""

    points_s: Sequence[FloatArray]
    """Of each feed, ascending in [0, period); without any it is never retrieved."""
    period_s: float

    def delays_s(self, postings: Postings) -> FloatArray:
        clock = postings.times_s % self.period_s
        following = np.array([points[0] + self.period_s if points.size else np.inf for points in self.points_s])
        return _waiting_s(clock, postings.feeds, self.points_s, following)

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        return np.array([
            int(np.sum(np.ceil((end_s - points) / self.period_s) - np.ceil((start_s - points) / self.period_s)))
            for points in self.points_s
        ])


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A schedule of each feed at listed times."""

    moments_s: Sequence[FloatArray]
    """Of each feed, ascending."""

    def delays_s(self, postings: Postings) -> FloatArray:
        return _waiting_s(postings.times_s, postings.feeds, self.moments_s, np.full(len(self.moments_s), np.inf))

    def retrievals(self, start_s: float, end_s: float) -> IntArray:
        return np.array([int(np.diff(moments.searchsorted((start_s, end_s)))[0]) for moments in self.moments_s])


def _waiting_s(
    times_s: FloatArray, feeds: IntArray, moments_s: Sequence[FloatArray], afterwards_s: FloatArray
) -> FloatArray:
    """(n,) until the first of the moments of its feed at or after each time; `afterwards_s` (F,) follows the last."""
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
    """Return the times at which a feed is retrieved when a validation policy says, from `first_s` on.

    After a retrieval at t the next is at max(expiry, t + min_interval_s), `min_interval_s` > 0; the last is the first
    at or after `end_s`, or the last that the policy asks for. What the policy knows of the feed is all that was posted
    until t, since a feed dates its items. It learns the outcome of its verdict where it carries a state.
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
    """The costs and results of retrievals over some time."""

    retrievals_per_day: float
    """Of a feed, on average."""
    mean_s: float
    """The delay of a posting; NaN without postings."""
    mean_of_feeds_s: float
    """The mean over feeds of the mean delay of their postings: each feed counts once, if it posted."""
    max_s: float
    deviation_s: float
    """Standard deviation of the delays."""
    never: int
    """Postings that no retrieval followed; they count as retrieved at the end."""

    @classmethod
    def of(cls, schedules: Schedules, postings: Postings, feeds: int, start_s: float, end_s: float) -> Self:
        """Measure [start_s, end_s) with postings of F = `feeds` feeds in it, which may be retrieved after the end."""
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
