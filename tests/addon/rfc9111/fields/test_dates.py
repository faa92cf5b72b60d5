import calendar
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.dates import date_field, format_http_date, parse_http_date
from bestbefore.addon.rfc9111.message import Fields

NOW_S = 1_779_827_200.0  # Tue, 26 May 2026 20:26:40 GMT
RFC_EXAMPLE_S = 784_111_777.0  # 1994-11-06 08:49:37


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "SUN, 06 nov 1994 08:49:37 gmt",
    ],
)
def test_the_example_of_rfc_9110_is_read_in_its_three_forms_and_in_any_case(text: str) -> None:
    assert parse_http_date(text, NOW_S) == RFC_EXAMPLE_S


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "784111777",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06  Nov  1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
        "1994-11-06T08:49:37Z",
        "Sun, 30 Feb 2026 08:49:37 GMT",
        "Sun, 29 Feb 2026 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, ٠6 Nov 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
    ],
)
def test_nothing_else_is_a_date(text: str) -> None:
    assert parse_http_date(text, NOW_S) is None


def test_the_first_line_of_a_field_counts() -> None:
    lines = [("Expires", "0"), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("date", "0")]
    assert date_field(Fields(lines), "DATE", NOW_S) == RFC_EXAMPLE_S
    assert date_field(Fields(lines), "expires", NOW_S) is None
    assert date_field(Fields(lines), "last-modified", NOW_S) is None


def test_a_leap_second_is_the_second_after() -> None:
    assert parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", NOW_S) == calendar.timegm((2017, 1, 1, 0, 0, 0))


def test_a_wrong_name_of_the_day_is_not_held_against_a_date() -> None:
    assert parse_http_date("Mon, 06 Nov 1994 08:49:37 GMT", NOW_S) == RFC_EXAMPLE_S


@pytest.mark.parametrize(
    ("year", "meant"), [("94", 1994), ("00", 2000), ("26", 2026), ("27", 2027), ("75", 2075), ("77", 1977)]
)
def test_a_two_digit_year_lies_at_most_fifty_years_ahead(year: str, meant: int) -> None:
    assert parse_http_date(f"Sunday, 01-Jan-{year} 00:00:00 GMT", NOW_S) == calendar.timegm((meant, 1, 1, 0, 0, 0))


def test_the_years_before_a_century_see_the_next() -> None:
    in_1999_s = calendar.timegm((1999, 6, 1, 0, 0, 0))
    assert parse_http_date("Sunday, 01-Jan-05 00:00:00 GMT", in_1999_s) == calendar.timegm((2005, 1, 1, 0, 0, 0))
    assert parse_http_date("Sunday, 29-Feb-00 00:00:00 GMT", in_1999_s) == calendar.timegm((2000, 2, 29, 0, 0, 0))


def test_a_century_that_would_put_it_too_far_ahead_or_on_no_day_is_not_meant() -> None:
    in_2060_s = calendar.timegm((2060, 6, 1, 0, 0, 0))
    for day, meant in (("01-Jan-05", (2105, 1, 1)), ("01-Jan-11", (2011, 1, 1)), ("29-Feb-00", (2000, 2, 29))):
        assert parse_http_date(f"Sunday, {day} 00:00:00 GMT", in_2060_s) == calendar.timegm((*meant, 0, 0, 0))


@given(st.integers(0, 253_402_300_799))
def test_what_is_written_is_what_the_standard_library_writes_and_is_read_again(unix_s: int) -> None:
    text = format_http_date(unix_s)
    assert text == formatdate(unix_s, usegmt=True)
    assert parse_http_date(text, NOW_S) == unix_s


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_moment_can_be_written(unix_s: float) -> None:
    assert parse_http_date(format_http_date(unix_s), NOW_S) is not None


pieces = st.sampled_from([
    "Sun", "Sunday", ", ", " ", "06", "6", "31", "29", "Nov", "Feb", "-", "94", "1994", "0000", "08:49:37", "99:99:99",
    "GMT",
])  # fmt: skip


@given(st.one_of(st.text(max_size=40), st.lists(pieces, max_size=12).map("".join)), st.floats(0.0, 1e11))
def test_no_text_makes_the_parser_fail(text: str, now_s: float) -> None:
    parse_http_date(text, now_s)
