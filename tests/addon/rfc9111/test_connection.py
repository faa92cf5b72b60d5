from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.connection import (
    LOOP_FIELD,
    connection_options,
    end_to_end,
    has_passed,
    hops,
    with_via,
)
from bestbefore.addon.rfc9111.message import Fields

type Having = Callable[..., Fields]


def test_what_is_for_this_connection_is_not_passed_on(fields: Having) -> None:
    received = fields(
        "Connection: close, A", "connection: b", "a: 1", "B: 2", "c: 3", "Keep-Alive: timeout=5", "Proxy-Connection: x",
        "TE: trailers", "Trailer: T", "Transfer-Encoding: chunked", "Upgrade: h2c", "Proxy-Authorization: Basic x",
        "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "Authorization: Basic y",
    )  # fmt: skip
    assert end_to_end(received) == fields("c: 3", "Authorization: Basic y")


def test_a_message_without_connection_fields_is_passed_on_as_it_is(fields: Having) -> None:
    received = fields("A: 1", "B: 2")
    assert end_to_end(received) is received


def test_connection_may_be_empty_or_broken(fields: Having) -> None:
    assert connection_options(fields('Connection: , "a, b" ,')) == {'"a, b"'}
    assert end_to_end(fields("Connection: ", "a: 1")) == fields("a: 1")


def test_via_grows_at_its_end(fields: Having) -> None:
    assert with_via(fields("Via: 1.0 fred", "A: 1"), "1.1", "bb-1").get("via") == "1.0 fred, 1.1 bb-1"


@pytest.mark.parametrize(
    ("via", "passed"),
    [
        ("1.1 bb-1", True),
        ("1.0 fred, 1.1 p.example.net", False),
        ("1.0 fred, HTTP/2 BB-1 (a comment)", True),
        ("1.1 bb-12, 1.1 x-bb-1", False),
        ("1.1 fred (bb-1)", False),
        ("bb-1", False),
        ("", False),
        (",, 1.1", False),
    ],
)
def test_a_loop_is_seen_by_our_name_in_via(fields: Having, via: str, passed: bool) -> None:
    assert has_passed(fields("Via: 1.1 other", f"Via: {via}"), "bb-1") is passed


def test_a_loop_is_seen_without_via_by_a_field_of_our_own(fields: Having) -> None:
    sent = with_via(fields("Via: 1.0 fred"), "1.1", "bb-1", LOOP_FIELD)
    assert sent.get("via") == "1.0 fred"
    assert has_passed(sent, "bb-1")
    assert not has_passed(sent, "fred-1")
    assert hops(sent.added(("A", "1"))) == (("Via", "1.0 fred"), (LOOP_FIELD, "1.1 bb-1"))


@given(st.lists(st.text(st.sampled_from('abc1. ,()\\"-'), max_size=20), max_size=3))
def test_no_text_makes_these_fail_and_our_own_via_is_always_found(lines: list[str]) -> None:
    received = Fields([(name, line) for line in lines for name in ("Via", "Connection")])
    assert has_passed(with_via(received, "1.1", "Bb-1"), "bB-1")
    assert "connection" not in end_to_end(received)
