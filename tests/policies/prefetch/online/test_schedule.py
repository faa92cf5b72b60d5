"""Objects in order of their due times, at the price of the budget, through changes of estimates and budgets."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.models.clockwork.beats import ClockBeat, Clockwork
from bestbefore.policies.prefetch.allocation import continuous
from bestbefore.policies.prefetch.online.estimate import SHORTEST_S, ScheduleEstimate
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.units import DAY_S, HOUR_S


def contacts(
    schedule: Schedule, estimates: dict[int, ScheduleEstimate], until_s: float, from_s: float = 0.0
) -> list[tuple[float, int]]:
    """Contact what is due when it is due, with estimates that do not change."""
    made, now_s = [], from_s
    while now_s < until_s:
        slot = schedule.take(now_s)
        if slot is None:
            next_s = schedule.next_s()
            now_s = until_s if next_s is None else max(min(next_s, now_s + HOUR_S), now_s + 1.0)
            continue
        made.append((now_s, slot))
        schedule.put(slot, replace(estimates[slot], contact_s=now_s))
    return made


def started(estimates: dict[int, ScheduleEstimate], per_hour: float, objective: str = "delay") -> Schedule:
    schedule = Schedule(objective, per_hour, 0.0)
    for slot, estimate in estimates.items():
        schedule.put(slot, estimate)
    return schedule


@pytest.mark.parametrize("objective", ["delay", "freshness"])
def test_the_budget_is_kept_and_divided_as_the_allocation_does(objective):
    rates = np.geomspace(0.02, 0.1, 20)
    estimates = {slot: ScheduleEstimate(rate, -HOUR_S * slot / 4) for slot, rate in enumerate(rates.tolist())}
    made = contacts(started(estimates, 1.0, objective), estimates, 12 * DAY_S)
    late = np.array([slot for at_s, slot in made if at_s > 4 * DAY_S])
    assert late.size == pytest.approx(8 * 24, rel=0.06)
    frequencies = getattr(continuous, objective)(rates, None, 1.0)
    assert np.bincount(late, minlength=20) / (8 * 24) == pytest.approx(frequencies, rel=0.1, abs=2 / 192)


def test_an_object_is_contacted_once_its_busy_hours_are_over():
    busy = bytes([20] * 8 + [1] * 16)
    estimates = {0: ScheduleEstimate(0.5, 0.0, hours=busy)}
    made = contacts(started(estimates, 1 / 24), estimates, 30 * DAY_S)
    hours = {round(at_s % DAY_S / HOUR_S, 1) for at_s, _ in made if at_s > 5 * DAY_S}
    assert hours == {8.0}


def test_limits_come_before_the_price():
    estimates = {
        0: ScheduleEstimate(50.0, 0.0, shortest_s=6 * HOUR_S),
        1: ScheduleEstimate(1e-6, 0.0, longest_s=12 * HOUR_S),
        2: ScheduleEstimate(0.0, 0.0),
    }
    made = contacts(started(estimates, 0.25), estimates, 10 * DAY_S)
    gaps = [np.diff([at_s for at_s, slot in made if slot == one]) for one in range(3)]
    assert gaps[0].min() >= 6 * HOUR_S
    assert gaps[1].max() <= 12 * HOUR_S + 1.0
    assert gaps[2].size == 0


def test_what_was_taken_is_not_due_until_it_is_put_or_postponed():
    schedule = started({0: ScheduleEstimate(1.0, -100 * DAY_S)}, 1.0)
    assert schedule.take(0.0) == 0
    assert (schedule.take(DAY_S), schedule.next_s()) == (None, None)
    schedule.postpone(0, 2 * DAY_S)
    assert schedule.next_s() == 2 * DAY_S
    assert schedule.take(2 * DAY_S - 1.0) is None
    assert schedule.take(2 * DAY_S) == 0


def test_a_hastened_object_is_due_at_its_time():
    schedule = started({0: ScheduleEstimate(0.01, 0.0), 1: ScheduleEstimate(0.01, 0.0)}, 0.01)
    assert schedule.take(60.0) is None
    schedule.hasten(1, 120.0)
    assert schedule.take(119.0) is None
    assert schedule.take(120.0) == 1
    schedule.put(1, ScheduleEstimate(0.01, 120.0))
    assert schedule.take(600.0) is None


def test_a_removed_object_is_due_no_more_and_its_slot_may_be_another():
    schedule = started({0: ScheduleEstimate(1.0, -100 * DAY_S), 1: ScheduleEstimate(1.0, -50 * DAY_S)}, 1.0)
    schedule.remove(0)
    assert len(schedule) == 1
    assert (schedule.take(0.0), schedule.take(0.0)) == (1, None)
    schedule.remove(1)
    schedule.remove(1)
    assert len(schedule) == 0
    schedule.put(0, ScheduleEstimate(5.0, 0.0))
    assert len(schedule) == 1


def test_a_larger_budget_brings_contacts_forward_at_once():
    estimates = {slot: ScheduleEstimate(0.1, -HOUR_S * slot) for slot in range(20)}
    schedule = started(estimates, 0.5)
    contacts(schedule, estimates, 5 * DAY_S)
    before = schedule.next_s()
    assert before is not None
    schedule.set_budget(8.0, 5 * DAY_S)
    made = contacts(schedule, estimates, 6 * DAY_S, 5 * DAY_S)
    assert len(made) == pytest.approx(192, rel=0.15)


def test_the_price_may_fall_while_all_objects_are_taken():
    schedule = started({0: ScheduleEstimate(1.0, -100 * DAY_S)}, 1.0)
    assert schedule.take(0.0) == 0
    schedule.set_budget(100.0, 1.0)
    assert schedule.take(2.0) is None
    schedule.put(0, ScheduleEstimate(1.0, 2.0))
    assert schedule.next_s() is not None


def test_what_was_never_due_is_looked_at_again_when_the_price_has_fallen_a_little():
    estimates = {slot: ScheduleEstimate(0.1, -HOUR_S * slot) for slot in range(20)}
    estimates[20] = ScheduleEstimate(0.3, 0.0)
    schedule = started(estimates, 1.4, "freshness")
    before = contacts(schedule, estimates, DAY_S)
    price = schedule.price
    schedule.set_budget(1.95, DAY_S)
    assert 0.5 * price < schedule.price < price
    after = contacts(schedule, estimates, 3 * DAY_S, DAY_S)
    assert [20 in {slot for _, slot in made} for made in (before, after)] == [False, True]


def test_more_objects_raise_the_price():
    schedule = started({slot: ScheduleEstimate(0.1, 0.0) for slot in range(10)}, 1.0)
    schedule.take(0.0)
    before = schedule.price
    for slot in range(10, 40):
        schedule.put(slot, ScheduleEstimate(0.1, 0.0))
    schedule.take(1.0)
    assert schedule.price == pytest.approx(16 * before, rel=0.01)


def test_what_is_expected_is_that_of_the_allocation():
    schedule = started({slot: ScheduleEstimate(0.1, 0.0) for slot in range(10)}, 2.0)
    schedule.take(0.0)
    assert schedule.expected().delay_s == pytest.approx(2.5 * HOUR_S, rel=1e-3)
    assert schedule.budget_for("delay", 5 * HOUR_S) == (pytest.approx(1.0, rel=1e-3), None)
    per_hour, best = schedule.budget_for("delay", 60.0)
    assert (per_hour, best) == (pytest.approx(10 * HOUR_S / SHORTEST_S), pytest.approx(SHORTEST_S / 2)), "none is lower"


def test_upcoming_are_those_that_will_be_taken():
    estimates = {slot: ScheduleEstimate(0.1, -HOUR_S * slot / 2) for slot in range(30)}
    schedule = started(estimates, 3.0)
    assert schedule.upcoming(3, 0.0) == []
    contacts(schedule, estimates, DAY_S)
    upcoming = schedule.upcoming(5, DAY_S)
    made = contacts(schedule, estimates, DAY_S + 3 * HOUR_S, DAY_S)
    assert [slot for _, slot in made][:2] == [slot for slot, _ in upcoming][:2]
    assert [at_s for at_s, _ in made][:2] == pytest.approx([at_s for _, at_s in upcoming][:2], abs=HOUR_S)


def test_objects_with_a_theta_are_due_by_their_updates_alone():
    estimates = {0: ScheduleEstimate(0.5, 0.0, theta=2.0), 1: ScheduleEstimate(0.5, 0.0)}
    made = contacts(started(estimates, 0.5), estimates, 4 * DAY_S)
    assert [round(at_s / HOUR_S) for at_s, slot in made if slot == 0][:5] == [4, 8, 12, 16, 20]


def test_what_was_put_is_told() -> None:
    schedule = Schedule("delay", 1.0, 0.0)
    schedule.put(3, ScheduleEstimate(0.25, -60.0))
    assert (schedule.contact_s(3), schedule.rate_per_hour(3)) == (-60.0, 0.25)


def test_a_budget_above_all_limits_is_no_error() -> None:
    schedule = Schedule("age", 1e9, 0.0)
    schedule.put_many(range(3), [ScheduleEstimate(0.25, 0.0)] * 3)
    assert schedule.take(10.0) is None
    assert schedule.take(301.0) is not None


def test_an_object_that_changes_like_clockwork_is_contacted_just_after_its_beats():
    daily = Clockwork(DAY_S, (ClockBeat(9 * HOUR_S, 9 * HOUR_S + 60.0, 1.0),), 1.0)
    estimates = {0: ScheduleEstimate(1 / 24, 0.0, clockwork=daily), 1: ScheduleEstimate(1 / 24, 0.0)}
    made = contacts(started(estimates, 2 / 24), estimates, 20 * DAY_S)
    times_s = np.array([at_s for at_s, slot in made if slot == 0 and at_s > 5 * DAY_S])
    assert 12 <= times_s.size <= 15
    assert set((times_s % DAY_S).tolist()) == {9 * HOUR_S + 65.0}


def test_what_changes_apart_from_its_beats_is_contacted_between_them_too():
    half = Clockwork(DAY_S, (ClockBeat(9 * HOUR_S, 9 * HOUR_S + 60.0, 1.0),), 0.5)
    estimates = {0: ScheduleEstimate(1.0, 0.0, clockwork=half)}
    made = contacts(started(estimates, 0.25), estimates, 20 * DAY_S)
    phases_s = np.array([at_s for at_s, _ in made if at_s > 5 * DAY_S]) % DAY_S
    assert 0 < np.sum(phases_s == 9 * HOUR_S + 65.0) < phases_s.size
    schedule = started(estimates, 0.25)
    assert schedule.clockwork(0) == half
    schedule.put(0, ScheduleEstimate(1.0, 0.0))
    assert schedule.clockwork(0) is None


def test_the_price_may_fall_while_all_objects_are_under_way() -> None:
    schedule = started({0: ScheduleEstimate(1.0, 0.0)}, 0.1)
    assert schedule.take(DAY_S) == 0
    schedule.set_budget(10.0, DAY_S)
    schedule.put(0, ScheduleEstimate(1.0, DAY_S))
    assert schedule.take(2 * DAY_S) == 0


def test_what_is_due_and_deferred_waits_until_then_and_stays_hastened() -> None:
    schedule = started({0: ScheduleEstimate(1.0, 0.0), 1: ScheduleEstimate(1e-6, 0.0)}, 1.0)
    schedule.hasten(1, HOUR_S)
    schedule.defer(5 * HOUR_S, 6 * HOUR_S, 100)
    assert schedule.take(6 * HOUR_S - 1) is None
    assert {schedule.take(6 * HOUR_S), schedule.take(6 * HOUR_S)} == {0, 1}


def test_the_price_does_not_fall_much_while_objects_enter_that_were_just_contacted() -> None:
    schedule = Schedule("delay", 1.0, 0.0)
    schedule.put(0, ScheduleEstimate(0.1, 0.0))
    for hour in range(1, 24):
        schedule.take(HOUR_S * hour)
        schedule.put(hour, ScheduleEstimate(0.1, HOUR_S * hour))
    price = schedule.price
    again = Schedule("delay", 1.0, 24 * HOUR_S)
    again.put_many(range(24), [ScheduleEstimate(0.1, HOUR_S * hour) for hour in range(24)])
    again.take(24 * HOUR_S)
    assert price == pytest.approx(again.price, rel=0.35)


def test_the_price_is_set_again_once_there_is_much_more_or_less_demand() -> None:
    estimates = {slot: ScheduleEstimate(0.1, 0.0) for slot in range(10)}
    schedule = started(estimates, 1.0)
    schedule.take(0.0)
    price = schedule.price
    schedule.put_many(range(1), [replace(estimates[0], weight=2.0)])
    assert not schedule.is_price_due(1.0)
    schedule.put_many(range(10), [replace(one, weight=2.0) for one in estimates.values()])
    assert schedule.is_price_due(1.0)
    schedule.take(1.0)
    assert schedule.price == pytest.approx(2.0 * price, rel=1e-3)
    schedule.put_many(range(10), list(estimates.values()))
    assert schedule.is_price_due(2.0)


def test_an_object_that_is_postponed_again_and_again_counts_once() -> None:
    estimates = {slot: ScheduleEstimate(1.0, 0.0) for slot in range(10)}
    often, once = started(estimates, 1.0), started(estimates, 1.0)
    for hour in range(1, 48):
        for schedule, until_s in ((often, HOUR_S * hour + 60.0), (once, 100 * HOUR_S)):
            schedule.defer(HOUR_S * hour, until_s, 100)
            assert schedule.take(HOUR_S * hour) is None
    assert often.price == pytest.approx(once.price, rel=1e-3)


def test_nothing_may_be_put() -> None:
    schedule = started({0: ScheduleEstimate(1.0, 0.0)}, 1.0)
    schedule.take(0.0)
    schedule.put_many([], [])
    assert len(schedule) == 1


def test_a_budget_that_stopped_contacts_is_used_again_afterwards() -> None:
    """As the proxy holds it: so many contacts in 24 hours of the clock, none in a failure of a day."""
    estimates = {slot: ScheduleEstimate(rate, 0.0) for slot, rate in enumerate(np.geomspace(0.01, 1.0, 30).tolist())}
    schedule, spent, idle_until_s = started(estimates, 1.2), np.zeros(16 * 24, dtype=int), 0.0
    for now_s in np.arange(0.0, 15 * DAY_S, 600.0).tolist():
        hour = int(now_s // HOUR_S)
        if now_s < idle_until_s:
            schedule.defer(now_s, idle_until_s, 100)
        elif not 2 * DAY_S <= now_s < 3 * DAY_S:
            while (slot := schedule.take(now_s)) is not None:
                if spent[max(hour - 23, 0) : hour + 1].sum() >= 30:
                    idle_until_s = (hour + 1) * HOUR_S
                    schedule.postpone(slot, idle_until_s)
                    break
                spent[hour] += 1
                schedule.put(slot, replace(estimates[slot], contact_s=now_s))
    assert spent[10 * 24 : 15 * 24].sum() == pytest.approx(5 * 28.8, rel=0.1)


@given(
    st.lists(st.dictionaries(st.integers(0, 30), st.tuples(st.floats(0.0, 2.0), st.floats(-9e5, 0.0)), max_size=9)),
    st.sampled_from(["delay", "freshness"]),
    st.integers(0, 8),
)
def test_objects_put_together_are_due_as_if_put_one_by_one(
    parts: list[dict[int, tuple[float, float]]], objective: str, priced_after: int
) -> None:
    together, single = Schedule(objective, 1.0, 0.0), Schedule(objective, 1.0, 0.0)
    for i, part in enumerate(parts):
        if i == priced_after:
            for schedule in (together, single):
                schedule.set_price(0.0)
        estimates = {slot: ScheduleEstimate(rate, contact_s) for slot, (rate, contact_s) in part.items()}
        together.put_many(list(estimates), list(estimates.values()))
        for slot, estimate in estimates.items():
            single.put(slot, estimate)
    for now_s in (0.0, HOUR_S, 40 * DAY_S):
        due = [[], []]
        for found, schedule in zip(due, (together, single), strict=True):
            while (slot := schedule.take(now_s)) is not None:
                found.append(slot)
        assert sorted(due[0]) == sorted(due[1])
        assert together.price == pytest.approx(single.price, rel=1e-6, nan_ok=True)
