import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.hazard.memory import (
    UpdateMemory,
    hidden_until,
    memory_since,
    quiet_until,
    updated_at,
    updated_within,
)
from bestbefore.policies.units import DAY_S, HOUR_S

SATURDAY = 2 * DAY_S
gaps_s = st.lists(st.floats(0.0, 30 * DAY_S).map(lambda gap_s: round(gap_s, 2)), max_size=12)
some = settings(max_examples=100, derandomize=True, deadline=None)

WITHOUT_WEIGHTS = 10
"""The fields that do not depend on likelihoods."""


def weights(memory: UpdateMemory) -> list[float]:
    return [math.exp(log_weight) for log_weight in memory[WITHOUT_WEIGHTS:]]


def learnt(gaps: list[float], since_s: float = 0.0) -> UpdateMemory:
    memory = memory_since(since_s)
    for gap_s in gaps:
        memory = updated_at(memory, memory.at_s + gap_s, memory.at_s + gap_s)
    return memory


def test_nothing_is_known_of_a_new_object() -> None:
    assert memory_since(7.0) == UpdateMemory(7.0, 7.0, *[0.0] * 11)


def test_an_update_counts_once_in_each_memory_and_what_came_before_decays() -> None:
    memory = updated_at(memory_since(0.0), DAY_S, DAY_S)
    assert memory[:5] == (DAY_S, DAY_S, 1.0, DAY_S, 1.0)
    assert memory.day_observed_s == pytest.approx(DAY_S * (1 - math.exp(-1)))
    later = quiet_until(memory, DAY_S + 3 * HOUR_S)
    assert later.day_updates == pytest.approx(math.exp(-1 / 8))
    assert later.updates == 1.0
    assert later.observed_s == DAY_S + 3 * HOUR_S


def test_each_gap_counts_and_earlier_ones_count_less() -> None:
    assert learnt([DAY_S]).gaps == 0.0
    memory = learnt([DAY_S, HOUR_S, 4 * HOUR_S])
    logs, shares = np.log([HOUR_S, 4 * HOUR_S]), np.array([0.95, 1.0])
    assert memory.gaps == 1.95
    assert memory.gap_mean_log == pytest.approx(np.average(logs, weights=shares))
    deviations = shares * (logs - np.average(logs, weights=shares)) ** 2
    assert memory.gap_deviation == pytest.approx(deviations.sum())


def test_updates_at_weekends_are_counted_apart() -> None:
    memory = learnt([SATURDAY - 1.0, 1.0, 2 * DAY_S - 1.0, 1.0])
    assert (memory.updates, memory.weekend_updates) == (4.0, 2.0)


@given(gaps_s, st.floats(0.0, 1.0), st.floats(0.0, 60 * DAY_S))
@some
def test_counts_and_times_are_the_same_however_quiet_time_is_divided(
    gaps: list[float], share: float, quiet_s: float
) -> None:
    memory = learnt(gaps)
    t = memory.at_s + quiet_s
    halfway = quiet_until(memory, memory.at_s + share * quiet_s)
    assert quiet_until(halfway, t)[:WITHOUT_WEIGHTS] == pytest.approx(quiet_until(memory, t)[:WITHOUT_WEIGHTS])


@given(gaps_s, st.floats(0.0, 1.0), st.floats(0.0, 60 * DAY_S))
@some
def test_hidden_time_composes_and_is_not_observed(gaps: list[float], share: float, hidden_s: float) -> None:
    memory = learnt(gaps)
    t = memory.at_s + hidden_s
    hidden = hidden_until(memory, t)
    assert hidden_until(hidden_until(memory, memory.at_s + share * hidden_s), t) == pytest.approx(hidden)
    assert hidden.observed_s == memory.observed_s
    assert hidden[WITHOUT_WEIGHTS:] == memory[WITHOUT_WEIGHTS:]


@given(gaps_s.filter(bool))
@some
def test_the_weights_are_shares_and_none_vanishes(gaps: list[float]) -> None:
    found = weights(learnt(gaps))
    assert sum(found) == pytest.approx(1.0)
    assert min(found) >= 0.02 / 3 * (1 - 1e-9)


@given(gaps_s, st.floats(-400.0, 400.0).map(lambda days: days * DAY_S))
@some
def test_nothing_but_the_weekend_depends_on_the_calendar(gaps: list[float], shift_s: float) -> None:
    here, there = learnt(gaps), learnt(gaps, 500 * DAY_S + shift_s)
    fields = [field for field in UpdateMemory._fields if field not in ("at_s", "last_s", "weekend_updates")]
    assert [getattr(here, f) for f in fields] == pytest.approx([getattr(there, f) for f in fields], abs=1e-4, rel=1e-4)


def test_regular_updates_and_bursts_favour_the_expert_of_gaps() -> None:
    for gaps in ([DAY_S] * 60, [3 * DAY_S, *[120.0] * 15] * 4):
        lasting, _, of_gaps = weights(learnt(gaps))
        assert of_gaps > lasting


def test_an_update_between_two_contacts_counts_in_the_middle_of_observed_time() -> None:
    memory = updated_within(memory_since(0.0), 10 * HOUR_S, 14 * HOUR_S)
    assert memory.at_s == 14 * HOUR_S
    assert memory.updates == 1.0
    assert memory.observed_s == 14 * HOUR_S
    assert memory.last_s == 12 * HOUR_S
    assert memory.day_updates == pytest.approx(math.exp(-2 / 24))


def test_in_a_short_interval_an_update_is_as_one_at_a_known_time() -> None:
    before = learnt([DAY_S, 2 * HOUR_S, 5 * HOUR_S])
    after_s = before.at_s + HOUR_S
    within = updated_within(before, after_s, after_s + 1e-3)
    at = updated_at(before, after_s, after_s)
    assert within[:WITHOUT_WEIGHTS] == pytest.approx(at[:WITHOUT_WEIGHTS], rel=1e-6, abs=1e-5)
    assert weights(within) == pytest.approx(weights(at), abs=0.02)  # the law of gaps knows an hour more of quiet time


def test_hidden_time_before_an_update_counts_for_nothing_but_decay() -> None:
    before = learnt([DAY_S])
    memory = updated_at(before, before.at_s + 5 * HOUR_S, before.at_s + 2 * HOUR_S)
    assert memory.observed_s == DAY_S + 2 * HOUR_S
    assert memory.day_updates == pytest.approx(1 + math.exp(-5 / 24))
    assert memory.day_observed_s < quiet_until(before, before.at_s + 5 * HOUR_S).day_observed_s


def test_a_gap_counts_where_most_of_it_was_observed() -> None:
    before = learnt([DAY_S])
    t = before.at_s + 10 * HOUR_S
    assert updated_at(before, t, t - 5 * HOUR_S).gaps == 1.0
    assert updated_at(before, t, t - 6 * HOUR_S).gaps == 0.0
    assert updated_within(before, t - 5 * HOUR_S, t).gaps == 1.0
    assert updated_within(before, t - 6 * HOUR_S, t).gaps == 0.0
