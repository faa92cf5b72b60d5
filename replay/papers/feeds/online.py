"""Retrievals without a plan: the next feed is chosen when a retrieval is due, with all postings retrieved by then.

After each retrieval the rate of the feed is estimated again by `LearntRates.rates_at`.
"""

import numpy as np

from bestbefore.policies.prefetch.online.delay import DelayIndex
from bestbefore.policies.prefetch.online.spacing import DueDates
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray, IntArray
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.polling import Listed
from bestbefore.replay.papers.feeds.spans import END_S, START_S
from bestbefore.replay.papers.feeds.strategies import evenly

TICK_S = 600.0
"""The time between two evaluations of the index."""
BEYOND_S = 3 * DAY_S
"""The time for which retrievals continue after the end, for the last postings."""


def by_index(learnt: LearntRates, per_day: float) -> Listed:
    """Schedule the retrievals by `DelayIndex`: every ten minutes as many as are due."""
    feeds = len(learnt.spans)
    rates = learnt.rates_at(np.arange(feeds), START_S)
    # as after evenly spaced retrievals
    last_s = START_S - evenly(np.ones(feeds)).first_s
    index = DelayIndex(rates, learnt.drawn, last_s)
    taken, at, due = [], [], 0.0
    for t in np.arange(START_S, END_S + BEYOND_S, TICK_S).tolist():
        due += per_day * feeds * TICK_S / DAY_S
        chosen = index.take(t, int(due))
        due -= int(due)
        index.learn(chosen, learnt.rates_at(chosen, t))
        taken.append(chosen)
        at.append(np.full(chosen.size, t))
    return _by_feed(np.concatenate(taken), np.concatenate(at), feeds)


def by_due_dates(learnt: LearntRates, per_day: float) -> Listed:
    """Schedule single retrievals by `DueDates` at the frequencies of theorem 1, estimated again every hour."""
    feeds = len(learnt.spans)
    per_hour = per_day * feeds * HOUR_S / DAY_S
    roots = np.sqrt(learnt.rates_at(np.arange(feeds), START_S))
    due = DueDates((per_hour * roots / roots.sum()).tolist(), START_S)
    moments = np.arange(START_S, END_S + BEYOND_S, HOUR_S / per_hour)
    taken = np.empty(moments.size, dtype=np.intp)
    hour_of = ((moments - START_S) // HOUR_S).astype(np.intp)
    for part in np.split(np.arange(moments.size), np.flatnonzero(np.diff(hour_of)) + 1):
        for place, t in zip(part.tolist(), moments[part].tolist(), strict=True):
            feed = due.take(t)
            assert feed is not None  # since all rates are above 0
            taken[place] = feed
        now_s = float(moments[part[-1]])
        retrieved = np.unique(taken[part])
        roots[retrieved] = np.sqrt(learnt.rates_at(retrieved, now_s))
        frequencies = (per_hour * roots[retrieved] / roots.sum()).tolist()
        for number, frequency in zip(retrieved.tolist(), frequencies, strict=True):
            due.set_frequency(number, frequency, now_s)
    return _by_feed(taken, moments, feeds)


def _by_feed(taken: IntArray, at_s: FloatArray, feeds: int) -> Listed:
    order = np.argsort(taken, kind="stable")
    firsts = np.searchsorted(taken[order], np.arange(1, feeds))
    return Listed(np.split(at_s[order], firsts))
