from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.age import (
    age_value_s,
    clock_ahead_s,
    corrected_initial_age_s,
    current_at_s,
    date_value_s,
    with_date,
)
from bestbefore.addon.rfc9111.message import Fields

type MakeFields = Callable[..., Fields]

RECEIVED_S = 1_779_827_200.0
DATE = "Date: Tue, 26 May 2026 20:26:40 GMT"


@pytest.mark.parametrize(
    ("lines", "age_s"),
    [
        ([], 0),
        (["Age: 30"], 30),
        (["Age: 7200, 0"], 7200),
        (["Age: 0, 7200"], 0),
        (["Age: 7200", "Age: 0"], 7200),
        (["Age: 0", "Age: 7200"], 0),
        (["Age: 2147483649"], 2**31),
        (["Age: abc"], 0),
        (["Age: -7200"], 0),
        (["Age: 7200.0"], 0),
        (["Age: 7200;foo=bar"], 0),
        (["Age: "], 0),
        (["Age: , 5"], 5),
    ],
)
def test_the_first_member_of_age_counts_and_an_invalid_one_is_ignored(
    fields: MakeFields, lines: list[str], age_s: int
) -> None:
    assert age_value_s(fields(*lines)) == age_s


def test_the_initial_age_is_the_greater_of_those_by_date_and_by_age(fields: MakeFields) -> None:
    # Received 10 s after its Date, 4 s after the request: apparent 10; Age 30 was true when the request went out.
    assert corrected_initial_age_s(fields(DATE), RECEIVED_S + 6, RECEIVED_S + 10) == 10
    assert corrected_initial_age_s(fields(DATE, "Age: 30"), RECEIVED_S + 6, RECEIVED_S + 10) == 34
    assert current_at_s(fields(DATE, "Age: 30"), RECEIVED_S + 6, RECEIVED_S + 10) == RECEIVED_S - 24


def test_a_date_ahead_of_our_clock_makes_no_negative_age(fields: MakeFields) -> None:
    assert corrected_initial_age_s(fields(DATE), RECEIVED_S - 500, RECEIVED_S - 500) == 0


def test_a_response_without_a_valid_date_was_made_when_it_came(fields: MakeFields) -> None:
    for lines in ([], ["Date: foo"], ["Date: "]):
        assert date_value_s(fields(*lines), RECEIVED_S) == RECEIVED_S
        dated = with_date(fields(*lines), RECEIVED_S + 0.9)
        assert dated.values("date") == ("Tue, 26 May 2026 20:26:40 GMT",)
    assert with_date(fields(DATE), RECEIVED_S + 99) == fields(DATE)


def test_the_date_tells_how_the_clock_of_the_origin_differs_unless_a_cache_has_kept_the_response(
    fields: MakeFields,
) -> None:
    assert clock_ahead_s(fields(DATE), RECEIVED_S + 90.5) == -90.0
    assert clock_ahead_s(fields(DATE), RECEIVED_S - 90.0) == 90.0
    for lines in ([], ["Date: foo"], [DATE, "Age: 0"]):
        assert clock_ahead_s(fields(*lines), RECEIVED_S) is None


@given(
    st.sampled_from(["", "Age: 5", "Age: x", f"Age: {10**30}"]),
    st.sampled_from(["", DATE, DATE.replace("2026", "1970"), DATE.replace("2026", "9999"), "Date: x"]),
    st.floats(0, 1e10),
    st.floats(0, 1e10),
)
def test_no_clock_makes_an_age_negative(age: str, date: str, request_time_s: float, response_time_s: float) -> None:
    lines = [line.partition(": ") for line in (age, date) if line]
    fields = Fields((name, value) for name, _, value in lines)
    assert corrected_initial_age_s(fields, request_time_s, response_time_s) >= 0
