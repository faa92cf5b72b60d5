from datetime import UTC, datetime, timedelta

from bestbefore.policies.models.hazard.clock import bin_of, is_weekend
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
