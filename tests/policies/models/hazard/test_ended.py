import math

import pytest
from scipy.integrate import quad

from bestbefore.policies.models.hazard.ended import UPDATES, ended_mass, ended_rate_per_s
from bestbefore.policies.models.hazard.forecast import Forecast, forecast_at
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at
from bestbefore.policies.units import DAY_S, HOUR_S


def hourly(updates: int) -> UpdateMemory:
    memory = memory_since(0.0)
    for k in range(1, updates + 1):
        memory = updated_at(memory, HOUR_S * k, HOUR_S * k)
    return memory


def chance_ended(now: Forecast) -> float:
    return now.ended_weight / (now.lasting_weight + now.day_weight + now.gap_weight + now.ended_weight)


def test_the_mass_is_the_integral_of_the_rate() -> None:
    for start_s, end_s in ((0.0, 60.0), (HOUR_S, 30 * DAY_S)):
        assert ended_mass(start_s, end_s) == pytest.approx(quad(ended_rate_per_s, start_s, end_s)[0])


def test_few_updates_are_expected_in_a_long_time() -> None:
    assert ended_mass(DAY_S, math.e * DAY_S) == pytest.approx(UPDATES, rel=0.05)
    assert ended_mass(0.0, 365 * DAY_S) < 3.0


def test_after_a_quiet_time_that_the_history_does_not_explain_the_updates_have_ended() -> None:
    memory = hourly(200)
    moments_s = [memory.at_s + DAY_S * days for days in (0, 1, 9)]
    chances = [chance_ended(forecast_at(memory, t, 1 / DAY_S)) for t in moments_s]
    assert chances[0] == pytest.approx(0.003, rel=0.01)
    assert chances[0] < chances[1] < chances[2]
    assert chances[2] > 0.9


def test_the_next_update_ends_the_suspicion() -> None:
    memory = hourly(200)
    again = updated_at(memory, memory.at_s + 9 * DAY_S, memory.at_s + 9 * DAY_S)
    assert chance_ended(forecast_at(again, again.at_s, 1 / DAY_S)) == pytest.approx(0.003, rel=0.01)


def test_an_object_that_never_changed_has_not_ended() -> None:
    assert forecast_at(memory_since(0.0), 90 * DAY_S, 1 / DAY_S).ended_weight == 0.0
