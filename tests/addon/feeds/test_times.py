"""Dates of feeds: each form that feeds use, and what is no date."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.feeds.times import parse_time

AT_S = 1_795_161_600.0  # 2026-11-20 08:00:00 UTC


@pytest.mark.parametrize(
    "text",
    [
        "Fri, 20 Nov 2026 08:00:00 GMT",
        "Fri, 20 Nov 2026 08:00:00 +0000",
        "Fri, 20 Nov 2026 03:00:00 EST",
        "Fri, 20 Nov 26 09:00 +0100",
        "20 November 2026 08:00:00 UT",
        "Wed, 20 Nov 2026 08:00:00",  # not a Wednesday
        "Fri, 20-Nov-2026 08:00:00 GMT",
        "Fri,20 Nov 2026 08:00:00 GMT+0",
        "2026-11-20T08:00:00Z",
        "2026-11-20T08:00:00.75Z",
        "2026-11-20T13:30:00+05:30",
        "2026-11-20T00:00-08:00",
        " 2026-11-20 08:00:00 ",
        "20261120T080000Z",
    ],
)
def test_all_forms_name_the_same_moment(text: str) -> None:
    assert parse_time(text) == AT_S


def test_a_date_alone_is_its_midnight() -> None:
    assert parse_time("2026-11-20") == AT_S - 8 * 3600
    assert parse_time("20 Nov 2026") == AT_S - 8 * 3600


@pytest.mark.parametrize(
    ("zone", "hours"),
    [("AST", -4), ("ADT", -3), ("EST", -5), ("EDT", -4), ("CST", -6), ("CDT", -5), ("MST", -7), ("MDT", -6),
     ("PST", -8), ("PDT", -7), ("CET", 1), ("CEST", 2), ("UT", 0), ("GMT", 0), ("Z", 0), ("XYZ", 0)],
)
def test_the_names_of_zones_are_known(zone: str, hours: int) -> None:
    assert parse_time(f"Fri, 20 Nov 2026 08:00:00 {zone}") == AT_S - 3600 * hours


def test_two_digits_of_a_year_lie_between_1990_and_2089() -> None:
    assert parse_time("1 Jan 99 00:00 GMT") == 915_148_800.0
    assert parse_time("1 Jan 01 00:00 GMT") == 978_307_200.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "30 Feb 2026 08:00:00 GMT",
        "20 Nov 2026 24:00:00 GMT",
        "20 Foo 2026 08:00:00 GMT",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-11-20T08:00:00+99:00",
        "1795161600",
        "20 Nov 2026 08:00:00 GMT" + " " * 99 + "x",
        "٢٠ Nov 2026",
    ],
)
def test_what_names_no_moment_is_no_date(text: str) -> None:
    assert parse_time(text) is None


def test_a_date_has_80_characters_at_most() -> None:
    def spaced(length: int) -> str:
        return "Fri, 20 Nov 2026 08:00:00".ljust(length - 3) + "GMT"

    assert parse_time(spaced(80)) == AT_S
    assert parse_time(spaced(81)) is None


@settings(max_examples=150, derandomize=True)
@given(st.one_of(st.text(max_size=100), st.text("0123456789-:T+Z ,.JanFeb", max_size=60)))
def test_any_text_is_a_moment_or_none(text: str) -> None:
    moment_s = parse_time(text)
    assert moment_s is None or -1e11 < moment_s < 1e12
