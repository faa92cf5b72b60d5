"""Estimates of objects for the schedule of fetches, from records, groups, demand, and what the owner wants."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.rate_evidence import updates_by_hour
from bestbefore.addon.prefetch_limits import PrefetchLimits
from bestbefore.addon.prefetcher.eligibility import MIN_REQUESTS
from bestbefore.addon.store.backend.keeper import WANTS_KEPT_DAYS
from bestbefore.addon.store.candidate import Candidate, CandidateTable
from bestbefore.policies.models.clockwork.beats import Clockwork, shifted
from bestbefore.policies.models.clockwork.detection import find_clockwork
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.hazard.after_contact import rate_after_contact
from bestbefore.policies.models.hazard.clock import WEEKEND_PART, weekend_part
from bestbefore.policies.models.hazard.forecast import weekend_share
from bestbefore.policies.models.hazard.memory import memory_since
from bestbefore.policies.models.patterns import profiles
from bestbefore.policies.prefetch.online.estimate import FLAT, SHORTEST_S, Estimates
from bestbefore.policies.prefetch.online.week import bytes_of
from bestbefore.policies.units import HOUR_S, FloatArray

STRENGTH = 24.0
"""The number of updates at which an object's own hours weigh as much as its group's: one for each hour of the day."""
DEMAND_H = WANTS_KEPT_DAYS * 24.0


def clockwork_of(record: Record) -> Clockwork | None:
    """Return the beats of an object by our clock, from its updates of known time, which are by that of its origin."""
    found = find_clockwork(np.sort([update.by_s for update in record.updates if update.exact]))
    return None if found is None else shifted(found, record.clock_behind_s)


def candidate_of(
    record: Record, group: Group, asked: dict[str, int], clockwork: Clockwork | None = None
) -> Candidate:
    """Return the candidate as of its last contact. `asked`: how often it was requested, by range of addresses."""
    contact_s = record.last_contact_s
    memory = record.memory or memory_since(record.since_s)
    rate_per_hour = HOUR_S * rate_after_contact(memory, max(contact_s, memory.at_s), group.rate_per_s(contact_s))
    in_group = np.array([group.counts(-math.inf, contact_s)])
    of_group = profiles(in_group, None, STRENGTH)[0]
    own = profiles(updates_by_hour(record)[None], of_group, STRENGTH)[0]
    group_since_s = record.since_s if group.since_s is None else group.since_s
    group_weekend = weekend_share(
        float(in_group.sum()), group.weekend_updates(-math.inf, contact_s), WEEKEND_PART,
        weekend_part(group_since_s, contact_s),
    )
    own_weekend = weekend_share(
        memory.updates, memory.weekend_updates, group_weekend, weekend_part(record.since_s, contact_s)
    )
    return Candidate(
        rate_per_hour,
        contact_s + record.clock_behind_s,
        sum(asked.values()),
        bytes_of(own).tobytes(),
        own_weekend,
        tuple(sorted(filter(None, asked))),
        clockwork=clockwork,
    )


class FetchTerms(NamedTuple):
    """What bounds and weighs the fetches of an object beside its candidate: the limits of its rule and its troubles."""

    limits: PrefetchLimits
    least_s: float = 0.0
    """The least time between two fetches, whatever the limits: more would bring little."""
    retry_s: float | None = None
    """How long after the last fetch, which failed, to try again."""
    longest_s: float = math.inf
    """The longest time between two fetches, if its rule has no shorter one."""


def _numbers(terms: FetchTerms) -> tuple[float, float, float, float]:
    """Return the weight of a request, the least and the longest time between fetches, and theta."""
    limits, least_s, retry_s, _ = terms
    least_s = least_s if retry_s is None else retry_s
    shortest_s = max(limits.shortest_s, SHORTEST_S, least_s)
    longest_s = min(limits.longest_s, terms.longest_s if retry_s is None else retry_s)
    # Where expected updates or failures decide, the price does not: the object has no part in what it is to bring.
    weight = 0.0 if limits.prefetch_theta or retry_s is not None else limits.weight
    return weight, shortest_s, max(longest_s, shortest_s), limits.prefetch_theta


def estimates_of(table: CandidateTable, terms: Sequence[FetchTerms], costs: FloatArray, *, evenly: bool) -> Estimates:
    """Return what the schedule needs of candidates.

    `costs`: (n,) of a fetch, in fetches of the budget. `evenly`: whether the hours of the day are ignored.
    """
    rows, n = table.rows, len(table)
    numbers = np.array([_numbers(one) for one in terms]).reshape(-1, 4)
    requests = np.maximum(rows["requests"], MIN_REQUESTS)  # fewer only if it is fetched though clients do not ask
    beating = {} if evenly else {i: one for i, (_, one) in table.rare.items() if one is not None}
    return Estimates(
        rows["rate_per_hour"],
        numbers[:, 0] * requests / DEMAND_H,
        rows["contact_s"],
        np.tile(np.frombuffer(FLAT, np.uint8), (n, 1)) if evenly else rows["hours"],
        np.full(n, WEEKEND_PART) if evenly else rows["weekend_share"],
        numbers[:, 1],
        numbers[:, 2],
        costs,
        numbers[:, 3],
        {i: one for i, one in beating.items() if not numbers[i, 3]},
    )


def teaches(record: Record) -> bool:
    """Whether contacts show changes of the object: it has a validator, or is a feed.

    A single contact shows none.
    """
    return record.counted or record.contacts == 1
