"""The schedule of the prefetcher on recorded feeds, without proxy and origin: when it would contact which feed.

The estimates, the schedule and its budget, in 24 hours of the clock too, are those of the running proxy; each contact
takes no time, and lists all postings so far.
"""

import heapq
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bestbefore.addon.engine.learning import DETAILED_UPDATES, Record
from bestbefore.addon.engine.update import Update, memory_of
from bestbefore.addon.prefetch_limits import NO_PREFETCH_LIMITS
from bestbefore.addon.prefetcher.candidates import AIMED_PART
from bestbefore.addon.prefetcher.estimates import FetchTerms, candidate_of, estimates_of
from bestbefore.addon.store.candidate import CandidateTable
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.member_rates import MemberRates, log_interval_micronats
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

REQUESTS = {"": 2}


def contacts_s(
    times_s: Sequence[FloatArray], objective: str, budget: int, since_s: float,
    asked_s: Sequence[tuple[float, int]], end_s: float, *, evenly: bool,
) -> list[FloatArray]:
    """Return the contacts with each feed, `times_s` (ascending), with such a budget for a day.

    Feeds are known since `since_s`, and enter with the second of the contacts of clients, `asked_s`: (time, feed).
    """
    schedule = Schedule(objective, AIMED_PART * budget / 24.0, asked_s[0][0], DAY_S)
    spent: Counter[int] = Counter()
    """By hour."""
    made: list[list[float]] = [[] for _ in times_s]
    asked = list(asked_s)
    heapq.heapify(asked)
    now_s = asked[0][0]
    while True:
        next_s = schedule.next_s()
        now_s = max(now_s, min(asked[0][0] if asked else np.inf, np.inf if next_s is None else next_s))
        if now_s >= end_s:
            return [np.array(moments) for moments in made]
        hour = int(now_s // HOUR_S)
        if asked and asked[0][0] <= now_s:
            feed = heapq.heappop(asked)[1]
        elif sum(spent[hour - before] for before in range(24)) >= budget:
            schedule.defer(now_s, (hour + 1) * HOUR_S, len(times_s))
            continue
        elif (due := schedule.take(now_s)) is None:
            continue
        else:
            feed = due
            spent[hour] += 1
        made[feed].append(now_s)
        if len(made[feed]) > 1:
            record = _record(times_s[feed], since_s, now_s)
            candidate = candidate_of(record, _alone(record), REQUESTS)
            table = CandidateTable.of({"": candidate})
            terms = [FetchTerms(NO_PREFETCH_LIMITS)]
            schedule.put_all(np.array([feed]), estimates_of(table, terms, np.ones(1), evenly=evenly))


def _record(times_s: FloatArray, since_s: float, now_s: float) -> Record:
    known = times_s[: times_s.searchsorted(now_s, side="right")].tolist()
    updates = tuple(Update(t, t) for t in known)
    memory = memory_of(updates, (), since_s, None)
    return Record("", since_s, now_s, 2, updates=updates[-DETAILED_UPDATES:], counted=True, memory=memory)


def _alone(record: Record) -> Group:
    """The group of a feed on a domain of its own."""
    hours: dict[int, int] = {}
    for update in record.updates:
        hour = int(update.by_s // HOUR_S)
        hours[hour] = hours.get(hour, 0) + 1
    rate = log_interval_micronats(len(record.updates), record.last_contact_s - record.since_s)
    return Group.of_hours(hours, {int(record.since_s // HOUR_S): 1}, MemberRates(1, rate))
