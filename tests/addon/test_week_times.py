from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bestbefore.addon.week_times import WEEK_MIN, WeekTimes, closed_stretches, is_never_open, opens_s

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def closed(quiet: str = "", only: str = "") -> tuple[tuple[int, int], ...]:
    quiet_times, only_times = ([WeekTimes.parse(part) for part in text.split(",") if part] for text in (quiet, only))
    return closed_stretches(tuple(quiet_times), tuple(only_times))


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        ("mon", ((0, 1440),)),
        ("Sat-Mon", ((7200, 8640), (8640, 10080), (0, 1440))),
        ("tue 08:00-18:30", ((1920, 2550),)),
        ("Sun 22:00-6:00", ((8640 + 1320, 8640 + 1800),)),
        ("sun 00:00-24:00", ((8640, 10080),)),
    ],
)
def test_times_are_stretches_of_the_week(text: str, stretches: tuple[tuple[int, int], ...]) -> None:
    assert WeekTimes.parse(text).stretches == stretches
    assert str(WeekTimes.parse(text)) == text.lower()


@pytest.mark.parametrize(
    "text", ["", "monday", "mon-", "8-9", "08:00", "08:00-08:00", "08:60-09:00", "25:00-26:00", "mon08:00-09:00"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        WeekTimes.parse(text)


def test_closed_is_what_is_quiet_or_outside_the_only_times() -> None:
    assert closed() == ()
    assert closed("sun 22:00-06:00") == ((0, 360), (8640 + 1320, WEEK_MIN))
    assert closed(only="mon-fri") == ((7200, WEEK_MIN),)
    assert closed("mon 00:00-06:00", "mon,tue 00:00-12:00") == ((0, 360), (2160, WEEK_MIN))
    assert is_never_open(closed("mon-sun"))
    assert is_never_open(closed("mon-tue", "mon"))
    assert closed("mon-fri,sat-sun") == ((0, WEEK_MIN),)


def test_the_next_open_moment_is_the_end_of_the_stretch_in_its_time_zone() -> None:
    nights = closed("22:00-06:00")
    assert opens_s(nights, BERLIN, at("2024-06-05T12:00")) == at("2024-06-05T12:00")
    assert opens_s(nights, BERLIN, at("2024-06-05T22:00")) == at("2024-06-06T06:00")
    assert opens_s(nights, BERLIN, at("2024-06-09T23:30")) == at("2024-06-10T06:00"), "over the end of the week"
    assert opens_s(nights, UTC, at("2024-06-05T22:30")) == at("2024-06-05T22:30")
    assert opens_s(closed("mon-sun"), UTC, 0.0) == float("inf")


def test_the_next_open_moment_where_clocks_change() -> None:
    nights = closed("00:00-02:30")
    assert opens_s(nights, BERLIN, at("2024-03-31T01:00")) == at("2024-03-31T03:30"), "02:30 does not exist"
    second = datetime(2024, 10, 27, 2, 10, tzinfo=BERLIN, fold=1).timestamp()
    assert opens_s(nights, BERLIN, second) == datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1).timestamp()
