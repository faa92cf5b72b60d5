from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.connection import (
    LOOP_FIELD,
    connection_options,
    end_to_end,
    has_passed,
    hops,
    protected_in_request,
    protected_in_response,
    with_via,
    without_named,
)
from bestbefore.addon.rfc9111.message import Fields

type MakeFields = Callable[..., Fields]


def test_what_is_for_this_connection_is_not_passed_on(fields: MakeFields) -> None:
    received = fields(
        "Connection: close, A", "connection: b", "a: 1", "B: 2", "c: 3", "Keep-Alive: timeout=5", "Proxy-Connection: x",
        "TE: trailers", "Trailer: T", "Transfer-Encoding: chunked", "Upgrade: h2c", "Proxy-Authorization: Basic x",
        "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: x", "Authorization: Basic y",
    )  # fmt: skip
    assert end_to_end(received) == fields("c: 3", "Authorization: Basic y")


def test_a_message_without_connection_fields_is_passed_on_as_it_is(fields: MakeFields) -> None:
    received = fields("A: 1", "B: 2")
    assert end_to_end(received) is received


def test_connection_may_be_empty_or_broken(fields: MakeFields) -> None:
    assert connection_options(fields('Connection: , "a, b" ,')) == {'"a, b"'}
    assert end_to_end(fields("Connection: ", "a: 1")) == fields("a: 1")


def test_via_grows_at_its_end(fields: MakeFields) -> None:
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
def test_a_loop_is_seen_by_our_name_in_via(fields: MakeFields, via: str, passed: bool) -> None:
    assert has_passed(fields("Via: 1.1 other", f"Via: {via}"), "bb-1") is passed


def test_a_loop_is_seen_without_via_by_a_field_of_our_own(fields: MakeFields) -> None:
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


HARMLESS = [
    [],
    ["Connection: keep-alive"],
    ["Connection: Keep-Alive, Upgrade, HTTP2-Settings, TE, Trailer, Proxy-Connection, close"],
    ["Connection: keep-alive", "Connection: Upgrade"],
    ["Connection: Accept-Language, X-Of-An-Extension"],
    ["Connection: ", "Connection: ,, "],
]


@pytest.mark.parametrize("lines", HARMLESS)
def test_connection_may_name_hop_by_hop_and_unknown_fields(
    fields: MakeFields, lines: list[str]
) -> None:
    assert protected_in_request(fields(*lines)) == protected_in_response(fields(*lines)) == frozenset()


@pytest.mark.parametrize(
    "name",
    [
        *("Content-Length", "Transfer-Encoding", "Host", "Expect", "Content-Type", "content-range", ":path"),
        *(":authority", "Authorization", "Cookie", "Proxy-Authorization", "X-Forwarded-For", "x-forwarded-host"),
        *("Forwarded", "Via", "Bestbefore-Via", "Cache-Control"),
    ],
)
def test_in_a_request_it_names_nothing_that_frames_addresses_or_authenticates(fields: MakeFields, name: str) -> None:
    for lines in ([f"Connection: {name}"], ["Connection: keep-alive", f"connection: close,\t{name.upper()} ,TE"]):
        assert protected_in_request(fields(*lines, f"{name}: 1")) == {name.lower()}
        assert protected_in_request(fields(*lines)) == {name.lower()}, "also where the field is not there"


@pytest.mark.parametrize(
    "name",
    [
        *("Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Vary", "Cache-Control", "Expires"),
        *("Age", "Date", "ETag", "Last-Modified", "Location", "Set-Cookie", "WWW-Authenticate", "Proxy-Authenticate"),
        *("Pragma", "CDN-Cache-Control", "Via", ":status"),
    ],
)
def test_in_a_response_it_names_nothing_that_describes_it(fields: MakeFields, name: str) -> None:
    assert protected_in_response(fields(f"Connection: close, {name}")) == {name.lower()}


@pytest.mark.parametrize(
    "line",
    [
        *("close Content-Length", '"Content-Length"', '", Content-Length', "close;content-length"),
        *("Content-Length\x00", "\tx\x0b,content-length\x0c"),
    ],
)
def test_a_name_counts_however_it_is_listed(fields: MakeFields, line: str) -> None:
    received = fields(f"Connection: {line}", "Content-Length: 5")
    assert protected_in_request(received) == protected_in_response(received) == {"content-length"}


def test_servers_name_transfer_encoding_in_responses(fields: MakeFields) -> None:
    assert not protected_in_response(fields("Connection: keep-alive", "Connection: Transfer-Encoding"))
    assert not protected_in_response(fields("Connection: Transfer-Encoding, close"))


def test_fields_that_connection_names_go_and_those_that_run_the_connection_stay(fields: MakeFields) -> None:
    received = fields("Connection: Upgrade, A, b", "a: 1", "B: 2", "c: 3", "Upgrade: h2c")
    assert without_named(received) == fields("Connection: Upgrade, A, b", "c: 3", "Upgrade: h2c")


@pytest.mark.parametrize("lines", [*HARMLESS, ["Connection: close, TE, Upgrade", "TE: trailers", "Upgrade: x"]])
def test_where_none_goes_the_fields_are_the_same_ones(fields: MakeFields, lines: list[str]) -> None:
    received = fields(*lines, "A: 1")
    assert without_named(received) is received
