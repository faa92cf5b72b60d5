import math
from datetime import UTC, datetime, timedelta

import pytest

from bestbefore.policies.models.hazard.clock import bin_of, is_weekend, weekend_part
from bestbefore.policies.units import DAY_S


def test_the_weekend_and_the_hour_are_those_of_the_utc_calendar() -> None:
    start = datetime(2024, 2, 25, tzinfo=UTC)
    for quarters in range(0, 4 * 24 * 20, 3):
        moment = start + timedelta(minutes=15 * quarters)
        assert is_weekend(moment.timestamp()) == (moment.isoweekday() >= 6)
        assert bin_of(moment.timestamp()) == moment.hour


def test_unix_time_begins_on_a_thursday() -> None:
    assert [is_weekend(day * DAY_S) for day in range(7)] == [False, False, True, True, False, False, False]


def test_the_last_instant_of_a_day_lies_in_its_last_hour() -> None:
    assert bin_of(DAY_S * 19_000 - 1e-6) == 23
    assert bin_of(DAY_S * 19_000) == 0


@pytest.mark.parametrize(("from_day", "until_day", "part"), [
    (0.0, 2.0, 0.0), (2.0, 4.0, 1.0), (1.0, 3.0, 0.5), (3.5, 4.5, 0.5), (0.3, 70.3, 2 / 7), (5.0, 5.0, 2 / 7),
    (math.inf, 5.0, 2 / 7), (4.0, 11.0, 2 / 7), (20_000.0, 20_007.0, 2 / 7),
])
def test_the_part_of_a_time_that_is_weekend(from_day: float, until_day: float, part: float) -> None:
    assert weekend_part(from_day * DAY_S, until_day * DAY_S) == pytest.approx(part, abs=1e-9)
