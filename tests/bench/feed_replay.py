"""The schedule of the prefetcher on recorded feeds, without proxy and origin: when it would contact which feed.

The estimates, the schedule and its budget are those of the running proxy; each contact takes no time, and lists all
postings so far.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from bestbefore.addon.engine.learning import DETAILED_UPDATES, Record
from bestbefore.addon.engine.update import Update, memory_of
from bestbefore.addon.prefetcher.estimates import candidate_of, estimate_of
from bestbefore.addon.wishes import NO_WISHES
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.member_rates import MemberRates, log_interval_micronats
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray

REQUESTS = {"": 2}


def contacts_s(
    times_s: Sequence[FloatArray], objective: str, per_day: float, since_s: float,
    asked_s: Sequence[tuple[float, int]], end_s: float, *, evenly: bool,
) -> list[FloatArray]:
    """Return the contacts with each feed, `times_s` (ascending), with so many of each feed and day on average.

    Feeds are known since `since_s`, and enter with the second of the contacts of clients, `asked_s`: (time, feed).
    """
    schedule = Schedule(objective, per_day * len(times_s) / 24.0, asked_s[0][0], DAY_S)
    made: list[list[float]] = [[] for _ in times_s]
    asked = list(asked_s)
    heapq.heapify(asked)
    now_s = asked[0][0]
    while True:
        next_s = schedule.next_s()
        now_s = max(now_s, min(asked[0][0] if asked else np.inf, np.inf if next_s is None else next_s))
        if now_s >= end_s:
            return [np.array(moments) for moments in made]
        feed = heapq.heappop(asked)[1] if asked and asked[0][0] <= now_s else schedule.take(now_s)
        if feed is None:
            continue
        made[feed].append(now_s)
        if len(made[feed]) > 1:
            record = _record(times_s[feed], since_s, now_s)
            candidate = candidate_of(record, _alone(record), REQUESTS)
            schedule.put(feed, estimate_of(candidate, NO_WISHES, evenly=evenly))


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
