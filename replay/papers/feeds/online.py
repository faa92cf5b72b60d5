"""Retrievals without a plan: the schedule that runs live, on the postings of feeds.

After each retrieval the rate of the feed is what the memory of `renewal` expects, with all postings up to then.
"""

import math
from collections.abc import Callable

import numpy as np

from bestbefore.policies.models.hazard.after_contact import rate_after_contact
from bestbefore.policies.models.hazard.experts import PRIOR_PER_S
from bestbefore.policies.models.hazard.memory import memory_since, updated_at
from bestbefore.policies.prefetch.online.estimate import ScheduleEstimate
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.prefetch.online.week import bytes_of
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.polling import Listed
from bestbefore.replay.papers.feeds.spans import END_S, START_S
from bestbefore.replay.papers.feeds.strategies import evenly

BEYOND_S = 3 * DAY_S
"""The time for which retrievals continue after the end, for the last postings."""
DAY_H = 24.0


RateAt = Callable[[float], float]
"""A moment -> the updates per hour that are expected after a retrieval then; moments ascend."""


def remembered(times_s: FloatArray) -> RateAt:
    """Estimate the rate of a feed with these postings by the memory of `renewal`."""
    memory, read = memory_since(0.0), 0

    def per_hour(now_s: float) -> float:
        nonlocal memory, read
        until = int(times_s.searchsorted(now_s, side="right"))
        for posted_s in times_s[read:until].tolist():
            memory = updated_at(memory, posted_s, posted_s)
        read = until
        return HOUR_S * rate_after_contact(memory, now_s, PRIOR_PER_S)

    return per_hour


def counted(times_s: FloatArray, days: float = math.inf) -> RateAt:
    """Estimate the rate of a feed by its postings of the last days, with half a posting in half a day added."""

    def per_hour(now_s: float) -> float:
        window_s = min(days * DAY_S, now_s)
        postings = np.diff(times_s.searchsorted((now_s - window_s, now_s), side="right"))[0]
        return float(HOUR_S * (postings + 0.5) / (window_s + 0.5 * DAY_S))

    return per_hour


def by_schedule(
    learnt: LearntRates, per_day: float, estimator: Callable[[FloatArray], RateAt] = remembered
) -> Listed:
    """Retrieve each feed when it is due by `Schedule`, for the least delay."""
    feeds = len(learnt.spans)
    rates = [estimator(times_s) for times_s in learnt.spans.times_s]
    hours = [row.tobytes() for row in bytes_of(learnt.drawn)]
    schedule = Schedule("delay", per_day * feeds / DAY_H, START_S)
    # as after evenly spaced retrievals
    for feed, before_s in enumerate(evenly(np.ones(feeds)).first_s.tolist()):
        schedule.put(feed, ScheduleEstimate(rates[feed](START_S), START_S - before_s, hours=hours[feed]))
    retrieved: list[list[float]] = [[] for _ in range(feeds)]
    now_s = START_S
    while now_s < END_S + BEYOND_S:
        due = schedule.take(now_s)
        if due is None:
            next_s = schedule.next_s()
            assert next_s is not None  # since all rates are above 0
            now_s = min(max(next_s, now_s), now_s + HOUR_S)
            continue
        retrieved[due].append(now_s)
        schedule.put(due, ScheduleEstimate(rates[due](min(now_s, END_S)), now_s, hours=hours[due]))
    return Listed([np.array(times) for times in retrieved])
