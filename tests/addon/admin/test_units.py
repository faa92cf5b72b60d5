import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.admin.units import counted, size, span, utc


def test_a_moment_is_given_in_utc_to_the_second() -> None:
    assert utc(1706227238.999) == "2024-01-26 00:00:38Z"


def test_moments_that_a_fast_clock_reaches_are_written_too() -> None:
    assert utc(3e11).startswith("11476-")


@pytest.mark.parametrize("time_s", [1e12, 1e300, math.inf])
def test_a_moment_that_is_no_date_is_said_to_be_far(time_s: float) -> None:
    assert utc(time_s) == "in the far future"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (0.00042, "0.4ms"), (0.0123, "12ms"), (0.9994, "999ms"), (0.9996, "1s"), (1.25, "1.2s"),
        (119.4, "119s"), (120, "2m"), (5400, "90m"), (7200, "2h"), (35_640, "9.9h"), (35_999, "10h"),
        (172_800, "2d"), (31_536_000, "365d"), (-18_720, "-5.2h"), (math.inf, "forever"),
    ],
)
def test_a_duration_is_formatted_in_a_fitting_unit(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0B"), (999, "999B"), (1000, "1kB"), (999_400, "999kB"), (999_500, "1MB"), (999_600, "1MB"),
     (8_388_608, "8.4MB"), (999_499_999, "999MB"), (999_500_000, "1GB"),
     (5e9, "5GB"), (2.5e12, "2.5TB"), (-1234, "-1.2kB")],
)
def test_a_size_is_formatted_in_powers_of_1000(n_bytes: float, text: str) -> None:
    assert size(n_bytes) == text


UNITS = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86_400}


@given(st.floats(1e-4, 8e8))
@settings(max_examples=300, derandomize=True)
def test_a_span_is_short_and_right_to_its_last_digit(seconds: float) -> None:
    text = span(seconds)
    match = re.fullmatch(r"([0-9]+(?:\.[0-9])?)([a-z]+)", text)
    assert match
    assert len(text) <= 6
    unit_s = UNITS[match[2]]
    rounding_s = (0.05 if float(match[1]) < 10 else 0.5) * unit_s
    assert abs(float(match[1]) * unit_s - seconds) <= rounding_s * 1.0001


@given(st.integers(0, 10**14))
@settings(max_examples=300, derandomize=True)
def test_a_size_is_short_and_within_five_percent(n_bytes: int) -> None:
    text = size(n_bytes)
    match = re.fullmatch(r"([0-9]+(?:\.[0-9])?)(B|kB|MB|GB|TB)", text)
    assert match
    assert len(text) <= 6
    assert abs(float(match[1]) * 1000 ** ("B", "kB", "MB", "GB", "TB").index(match[2]) - n_bytes) <= 0.05 * n_bytes


def test_numbers_with_nouns() -> None:
    assert [counted(n, "update") for n in (0, 1, 2000)] == ["0 updates", "1 update", "2,000 updates"]
