"""What the schedule is given of an object."""

from dataclasses import replace

import numpy as np
import pytest

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.update import Update, memory_of
from bestbefore.addon.prefetch_limits import NO_PREFETCH_LIMITS, FetchRate, PrefetchLimits
from bestbefore.addon.prefetcher.estimates import DEMAND_H, FetchTerms, candidate_of, clockwork_of, estimates_of
from bestbefore.addon.store.candidate import CandidateTable
from bestbefore.policies.models.clockwork.beats import described
from bestbefore.policies.models.group import Group
from bestbefore.policies.prefetch.online.estimate import FLAT, SHORTEST_S
from bestbefore.policies.units import DAY_S, HOUR_S

START_S = 20_000 * DAY_S
NOBODY = Group.of_hours({}, {})


def record(updates_s: list[float], until_s: float) -> Record:
    updates = tuple(Update(t, t) for t in updates_s)
    memory = memory_of(updates, (), START_S, None)
    return Record("http://a.org/", START_S, until_s, 9, updates=updates, counted=True, memory=memory)


def test_an_object_is_believed_to_change_as_it_did() -> None:
    seen = record([START_S + 6 * HOUR_S * i for i in range(1, 57)], START_S + 14 * DAY_S)
    candidate = candidate_of(seen, NOBODY, {"": 3, "loopback": 2})
    assert 24 * candidate.rate_per_hour == pytest.approx(4.0, rel=0.1)
    assert (candidate.requests, candidate.asked_from) == (5, ("loopback",))
    assert candidate.contact_s == seen.last_contact_s


def test_the_hours_are_those_of_the_updates_drawn_to_the_group() -> None:
    at_nine = record([START_S + DAY_S * i + 9 * HOUR_S for i in range(40)], START_S + 40 * DAY_S)
    hours = np.frombuffer(candidate_of(at_nine, NOBODY, {"": 2}).hours, np.uint8)
    assert hours.argmax() == 9
    group = Group.of_hours({int(START_S // HOUR_S) + 24 * i + 15: 20 for i in range(10)}, {int(START_S // HOUR_S): 9})
    drawn = np.frombuffer(candidate_of(at_nine, group, {"": 2}).hours, np.uint8)
    assert drawn[15] > hours[15]


def test_limits_of_a_rule_become_weight_and_times() -> None:
    candidate = candidate_of(record([START_S + 1.0], START_S + DAY_S), NOBODY, {"": 8})
    some = PrefetchLimits(weight=3.0, prefetch_least=FetchRate(1, DAY_S), prefetch_most=FetchRate(2, DAY_S))
    mailbox = PrefetchLimits(prefetch_theta=0.5)
    terms = [
        FetchTerms(NO_PREFETCH_LIMITS), FetchTerms(some), FetchTerms(NO_PREFETCH_LIMITS, least_s=86400.0),
        FetchTerms(mailbox, least_s=86400.0, retry_s=1200.0), FetchTerms(some, retry_s=1200.0), FetchTerms(mailbox),
        FetchTerms(NO_PREFETCH_LIMITS, longest_s=2 * DAY_S),
    ]  # fmt: skip
    table = CandidateTable.of({f"http://h/{i}": candidate for i in range(len(terms))})
    found = estimates_of(table, terms, np.arange(7.0), evenly=False)
    assert (found.weights * DEMAND_H).tolist() == pytest.approx([8, 24, 8, 0, 0, 0, 8])
    # of what failed, but is wanted at most twice a day, the latter decides
    assert found.shortest_s.tolist() == [SHORTEST_S, DAY_S / 2, DAY_S, 1200.0, DAY_S / 2, SHORTEST_S, SHORTEST_S]
    assert found.longest_s.tolist() == [np.inf, DAY_S, np.inf, 1200.0, DAY_S / 2, DAY_S, 2 * DAY_S]
    assert found.thetas.tolist() == [0, 0, 0, 0.5, 0, 0.5, 0]
    assert found.costs.tolist() == list(range(7))
    assert found.hours[1].tobytes() == candidate.hours
    even = estimates_of(table, terms, np.ones(7), evenly=True)
    assert {hours.tobytes() for hours in even.hours} == {FLAT}


def test_an_object_that_changes_like_clockwork_is_fetched_after_its_beats() -> None:
    daily = record([START_S + DAY_S * i + 9 * HOUR_S for i in range(20)], START_S + 20 * DAY_S)
    clockwork = clockwork_of(daily)
    assert clockwork is not None
    assert described(clockwork) == "daily at about 09:00 UTC"
    candidate = candidate_of(daily, NOBODY, {"": 2}, clockwork)
    table = CandidateTable.of({"http://h/0": candidate, "http://h/1": candidate})
    terms = [FetchTerms(NO_PREFETCH_LIMITS), FetchTerms(PrefetchLimits(prefetch_theta=0.5))]
    assert estimates_of(table, terms, np.ones(2), evenly=False).clockworks == {0: clockwork}
    assert estimates_of(table, terms, np.ones(2), evenly=True).clockworks == {}


def test_beats_of_a_clock_that_is_behind_come_later_by_ours() -> None:
    daily = record([START_S + DAY_S * i + 9 * HOUR_S for i in range(20)], START_S + 20 * DAY_S)
    behind = replace(daily, clock_behind_s=600.0)
    ours, theirs = clockwork_of(behind), clockwork_of(daily)
    assert ours is not None
    assert theirs is not None
    assert described(ours) == "daily at about 09:10 UTC"
    assert candidate_of(behind, NOBODY, {"": 2}, ours).contact_s == daily.last_contact_s + 600.0
    vague = tuple(Update(update.by_s - HOUR_S, update.by_s) for update in daily.updates)
    assert clockwork_of(replace(daily, updates=vague)) is None
