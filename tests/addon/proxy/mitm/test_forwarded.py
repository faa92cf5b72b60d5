"""What passes through mitmproxy itself: requests for an upgrade."""

import pytest

from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.mitm.forwarded import (
    ForwardedRequest,
    can_be_forwarded,
    upgrade_protocols,
    upgrade_request_fields,
    upgrade_response_head,
)
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

SITE = Site("bestbefore-1", b"", 1)
UPGRADE = (("Connection", "Upgrade"), ("Upgrade", "websocket"))


def forwarded(*fields: tuple[str, str]) -> ForwardedRequest:
    return ForwardedRequest(Request("GET", Target.parse("http://example.org/"), Fields(fields)), 0.0, 0.0)


def test_an_upgrade_is_passed_on_as_one_and_nothing_else_of_its_connection() -> None:
    """Host is the target's, and whatever frames goes: such a request has no content."""
    sent = upgrade_request_fields(
        forwarded(*UPGRADE, ("Host", "evil.example"), ("Content-Length", "52"), ("Transfer-Encoding", "chunked"),
                ("Expect", "100-continue"), ("Proxy-Authorization", "Basic x"), ("A", "b")).request,
        SITE,
    )  # fmt: skip
    assert sent.raw == (
        ("Host", "example.org"), *UPGRADE, ("A", "b"), ("Via", "1.1 bestbefore-1"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        (UPGRADE, ("websocket",)),
        (UPGRADE[:1], ()),
        (UPGRADE[1:], ()),
        ((("Connection", "close, upgrade"), UPGRADE[1]), ("websocket",)),
        ((UPGRADE[0], ("Upgrade", "h2c, websocket")), ("websocket",)),
        ((UPGRADE[0], ("Upgrade", "H2C")), ()),
    ],
)
def test_an_upgrade_is_asked_for_by_both_fields_and_never_to_http_2(
    fields: tuple[tuple[str, str], ...], asked: tuple[str, ...]
) -> None:
    assert upgrade_protocols(Fields(fields)) == asked


@pytest.mark.parametrize(
    ("status", "upgrade", "understood"),
    [(101, "websocket", True), (101, "WebSocket", True), (101, "h2c", False), (101, "", False), (200, "", True),
     (0, "", False), (600, "", False), (100, "", False), (199, "", False)],
)  # fmt: skip
def test_only_what_was_asked_for_is_switched_to(status: int, upgrade: str, understood: bool) -> None:
    fields = Fields((("Upgrade", upgrade),) if upgrade else ())
    assert can_be_forwarded(forwarded(*UPGRADE).request, Head(status, fields)) is understood


def test_an_answer_that_switches_says_to_what() -> None:
    head = upgrade_response_head(Head(101, Fields(UPGRADE)), 0.0, SITE)
    assert (head.fields.get("connection"), head.fields.get("upgrade")) == ("Upgrade", "websocket")


@pytest.mark.parametrize(
    ("codings", "understood"),
    [(("chunked",), True), (("Chunked",), True), (("identity",), False), (("gzip, chunked",), False),
     (("chunked", "chunked"), False)],
)  # fmt: skip
def test_an_answer_whose_end_others_may_see_elsewhere_is_refused(codings: tuple[str, ...], understood: bool) -> None:
    fields = Fields(("Transfer-Encoding", coding) for coding in codings)
    assert can_be_forwarded(forwarded(*UPGRADE).request, Head(200, fields)) is understood


@pytest.mark.parametrize("line", [("A", "b\0c"), ("A b", "c"), ("A", "b\rC: d"), ("", "a")])
def test_an_answer_with_a_field_that_is_none_is_refused(line: tuple[str, str]) -> None:
    assert not can_be_forwarded(forwarded(*UPGRADE).request, Head(200, Fields([line])))


def test_control_characters_of_a_reason_are_removed() -> None:
    assert upgrade_response_head(Head(200, Fields(), "a\0b"), 0.0, SITE).reason == "ab"


@pytest.mark.parametrize(("status", "stays"), [(200, True), (404, True), (304, False), (204, False)])
def test_only_an_answer_with_content_is_in_chunks(status: int, stays: bool) -> None:
    fields = Fields([("Transfer-Encoding", "chunked")])
    head = upgrade_response_head(Head(status, fields), 0.0, SITE)
    assert ("transfer-encoding" in head.fields) is stays


def test_the_answer_says_why_it_went_past_the_cache() -> None:
    head = upgrade_response_head(Head(200, Fields([("Update-History", "1;since=0")])), 0.0, SITE)
    assert head.fields.get("cache-status") == "bestbefore; fwd=bypass; fwd-status=200; detail=upgrade"
    assert "update-history" not in head.fields
