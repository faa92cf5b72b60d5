from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.storing import NoStore, why_not_store
from bestbefore.addon.rfc9111.conditional.validation import (
    conditional,
    confirmed,
    freshened,
    is_not_modified,
    not_modified,
    updated,
)
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]
type MakeHead = Callable[..., Head]
type MakeFields = Callable[..., Fields]

RECEIVED_S = 1_779_827_200.0
LATER_S = RECEIVED_S + 600
LATER = "Date: Tue, 26 May 2026 20:36:40 GMT"
MODIFIED = "Last-Modified: Tue, 26 May 2026 19:26:40 GMT"
FRESH = "Cache-Control: max-age=60"


def after_304(copy: Copy, head: Head, request: Request, response_time_s: float = LATER_S) -> Copy:
    return updated(
        copy, request, head, request_time_s=response_time_s - 1, response_time_s=response_time_s, salt=b"salt"
    )


def test_our_validators_take_the_place_of_the_clients(
    stored: MakeCopy, fields: MakeFields
) -> None:
    asked = fields('If-None-Match: "client"', "If-Modified-Since: Tue, 26 May 2026 10:00:00 GMT", "Foo: 1")
    sent = conditional(asked, [stored('ETag: "a"', MODIFIED), stored('ETag: W/"b"'), stored('ETag: "a"')])
    assert sent.raw == (
        ("Foo", "1"),
        ("If-None-Match", '"a", W/"b"'),
        ("If-Modified-Since", "Tue, 26 May 2026 19:26:40 GMT"),
    )
    assert conditional(asked, [stored(MODIFIED)]).names() == {"foo", "if-modified-since"}
    assert conditional(asked, [stored(FRESH, "ETag: unquoted")]).names() == {"foo"}
    assert conditional(asked, []).names() == {"foo"}


@pytest.mark.parametrize(
    ("copies", "answer", "found"),
    [
        ([['ETag: "a"']], ['ETag: "a"'], [0]),
        ([['ETag: "a"']], ['ETag: "b"'], []),
        ([['ETag: "a"'], ['ETag: "b"'], ['ETag: "a"']], ['ETag: "a"'], [0, 2]),
        ([['ETag: "a"'], ['ETag: "b"']], ['ETag: "b"'], [1]),
        ([['ETag: W/"a"'], ['ETag: W/"b"']], ['ETag: W/"b"'], [1]),
        ([['ETag: W/"a"'], ['ETag: W/"a"', LATER]], ['ETag: W/"a"'], [1]),
        ([['ETag: W/"a"']], ['ETag: "a"'], [0]),
        ([['ETag: W/"a"'], ['ETag: "a"']], ['ETag: "a"'], [1]),
        ([['ETag: "a"', MODIFIED]], [MODIFIED], [0]),
        ([['ETag: "a"', MODIFIED]], ['ETag: "b"', MODIFIED], []),
        ([[MODIFIED]], ['ETag: "new"', MODIFIED], [0]),
        ([[MODIFIED]], ["Last-Modified: Tue, 26 May 2026 19:26:41 GMT"], []),
        ([[MODIFIED]], ["Last-Modified: yesterday"], [0]),
        ([["ETag: unquoted", MODIFIED]], ["ETag: unquoted"], [0]),
        ([["ETag: unquoted", MODIFIED], ['ETag: "a"']], ["ETag: unquoted"], []),
        ([['ETag: "a"']], [MODIFIED], []),
        ([[MODIFIED]], ['ETag: "a"'], []),
        ([['ETag: "a"']], [], [0]),
        ([[MODIFIED], ['ETag: "a"']], [], []),
        ([], [], []),
        ([], ['ETag: "a"'], []),
    ],
)
def test_a_304_is_about_the_copies_whose_validator_it_bears(
    stored: MakeCopy,
    response: MakeHead,
    copies: list[list[str]],
    answer: list[str],
    found: list[int],
) -> None:
    # A different moment each, so that copies alike in all else can be distinguished.
    candidates = [replace(stored(*lines), stored_s=float(at)) for at, lines in enumerate(copies)]
    assert [copy.stored_s for copy in confirmed(response(*answer, status=304), candidates)] == found


def test_a_304_replaces_the_fields_it_bears_and_no_others(
    stored: MakeCopy, response: MakeHead, request_to: MakeRequest
) -> None:
    copy = stored(
        'ETag: W/"a"', "Cache-Control: max-age=1", "Content-Length: 5", "Content-Encoding: gzip",
        "Content-Type: text/plain", "Kept: 1", "Changed: 1", "Changed: 2", request=request_to("Accept-Encoding: gzip"),
    )  # fmt: skip
    head = response(
        LATER, 'ETag: "a"', "Cache-Control: max-age=3600", "Content-Length: 10", "Content-Encoding: br",
        "Content-Range: bytes 0-1/2", "Content-Type: text/html", "Changed: 3", "Added: 4", "Connection: hop",
        "Hop: 5", "Age: 20", status=304,
    )  # fmt: skip
    new = after_304(copy.with_verdict(LATER_S, "indttl", "r"), head, request_to("Accept-Encoding: gzip"))
    assert dict(new.head.fields.raw) == {
        "ETag": 'W/"a"',
        "Content-Length": "5",
        "Content-Encoding": "gzip",
        "Kept": "1",
        "Date": "Tue, 26 May 2026 20:36:40 GMT",
        "Cache-Control": "max-age=3600",
        "Content-Type": "text/html",
        "Changed": "3",
        "Added": "4",
    }
    assert new.head.status == 200
    assert (new.current_s, new.response_time_s, new.stored_s) == (LATER_S - 21, LATER_S, RECEIVED_S)
    assert new.http_expiry_s == LATER_S - 21 + 3600
    assert (new.expiry_s, new.reason, new.rule) == (None, "", "")
    assert new.selecting == copy.selecting


def test_a_304_without_date_was_made_when_it_came(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    new = after_304(stored('ETag: "a"', FRESH), Head(304), request_to())
    assert new.date_s == LATER_S
    assert new.current_s == LATER_S - 1


def test_a_304_may_end_what_allowed_to_store(
    stored: MakeCopy, response: MakeHead, request_to: MakeRequest
) -> None:
    copy = stored('ETag: "a"', FRESH, "Secret: 1", "Vary: Foo", request=request_to("Foo: 1"))
    for line, reason in (
        ("Cache-Control: no-store", NoStore.NO_STORE),
        ("Cache-Control: private", NoStore.PRIVATE),
        ("Vary: *", NoStore.VARY),
        ("Cache-Control: max-age=60", None),
    ):
        new = after_304(copy, response(LATER, line, status=304), request_to("Foo: 1"))
        assert why_not_store(request_to("Foo: 1"), new.head, LATER_S) is reason
        assert new.selecting == copy.selecting
    named = after_304(copy, response(LATER, 'Cache-Control: private="secret"', status=304), request_to())
    assert "secret" not in named.head.fields


def test_a_304_with_a_new_vary_selects_by_the_request_it_answers(
    stored: MakeCopy, response: MakeHead, request_to: MakeRequest
) -> None:
    new = after_304(stored('ETag: "a"'), response(LATER, "Vary: Foo", status=304), request_to("Foo: 1"))
    assert new.selecting == (("foo", "1"),)


def test_a_cookie_that_a_304_sets_does_not_cross_to_other_clients(
    stored: MakeCopy, response: MakeHead, request_to: MakeRequest
) -> None:
    alice = request_to("Cookie: who=alice", url="https://example.org/")
    shared = stored('ETag: "a"', FRESH, request=request_to(url="https://example.org/"))
    assert shared.personal == ""
    assert after_304(shared, response(LATER, status=304), alice).personal == ""
    bound = after_304(shared, response(LATER, "Set-Cookie: who=alice", status=304), alice)
    assert bound.personal != ""
    public = response(LATER, "Set-Cookie: who=alice", "Cache-Control: public", status=304)
    assert after_304(bound, public, alice).personal == bound.personal


@pytest.mark.parametrize(
    ("lines", "status", "same"),
    [
        ([], 200, True),
        (['ETag: "a"', MODIFIED, "Content-Length: 5"], 200, True),
        (['ETag: "b"'], 200, False),
        (["Last-Modified: Tue, 26 May 2026 20:00:00 GMT"], 200, False),
        (["Content-Length: 6"], 200, False),
        ([], 410, False),
    ],
)
def test_a_head_updates_a_copy_that_it_agrees_with_and_outdates_another(
    stored: MakeCopy,
    response: MakeHead,
    request_to: MakeRequest,
    lines: list[str],
    status: int,
    same: bool,
) -> None:
    copy = replace(stored('ETag: "a"', MODIFIED, FRESH, "Kept: 1"), outdated=same)
    head = response(LATER, "Cache-Control: max-age=1000", *lines, status=status)
    new = freshened(
        copy, request_to(method="HEAD"), head, request_time_s=LATER_S, response_time_s=LATER_S, salt=b""
    )
    assert new.outdated is not same
    assert new.head.fields.get("kept") == "1"
    assert new.cache_control.max_age == (1000 if same else 60)


@pytest.mark.parametrize(
    ("lines", "asked", "answer"),
    [
        (['ETag: "a"'], ['If-None-Match: "a"'], True),
        (['ETag: "a"'], ['If-None-Match: W/"a"'], True),
        (['ETag: W/"a"'], ['If-None-Match: "a"'], True),
        (['ETag: "a"'], ['If-None-Match: "x", "a", "y"'], True),
        (['ETag: "a"'], ['If-None-Match: "x"', 'If-None-Match: "a"'], True),
        (['ETag: "a"'], ["If-None-Match: *"], True),
        ([FRESH], ["If-None-Match: *"], True),
        (['ETag: "a"'], ['If-None-Match: "b"'], False),
        (['ETag: "a"'], ["If-None-Match: a"], False),
        (['ETag: "a"'], ['If-None-Match: "a", *'], False),
        ([FRESH], ['If-None-Match: "a"'], False),
        (['ETag: "a"', MODIFIED], ['If-None-Match: "b"', "If-Modified-Since: Tue, 26 May 2026 20:26:40 GMT"], False),
        (['ETag: "a"', MODIFIED], ['If-None-Match: "a"', "If-Modified-Since: Tue, 26 May 2020 20:26:40 GMT"], True),
        ([MODIFIED], ["If-Modified-Since: Tue, 26 May 2026 19:26:40 GMT"], True),
        ([MODIFIED], ["If-Modified-Since: Tuesday, 26-May-26 19:26:40 GMT"], True),
        ([MODIFIED], ["If-Modified-Since: Tue, 26 May 2026 19:26:39 GMT"], False),
        ([FRESH], ["If-Modified-Since: Tue, 26 May 2026 20:26:40 GMT"], True),
        ([FRESH], ["If-Modified-Since: Tue, 26 May 2026 20:26:39 GMT"], False),
        ([MODIFIED], ["If-Modified-Since: tomorrow"], False),
        ([MODIFIED], ["If-Modified-Since: Tue, 26 May 2026 19:26:40 GMT"] * 2, False),
        ([MODIFIED], [], False),
    ],
)
def test_when_the_client_gets_a_304(
    stored: MakeCopy,
    request_to: MakeRequest,
    lines: list[str],
    asked: list[str],
    answer: bool,
) -> None:
    assert is_not_modified(request_to(*asked), stored(*lines)) is answer
    assert not is_not_modified(request_to(*asked), stored(*lines, status=404))


def test_a_304_bears_what_a_200_would_less_what_describes_the_content(fields: MakeFields) -> None:
    lines = [
        "Date: d", "Cache-Control: c", "Vary: v", "Expires: e", "Content-Location: /l", "Via: x",
        "Content-Type: t", "Content-Length: 5", "Content-Encoding: gzip", "Content-Language: en",
    ]  # fmt: skip
    kept = {"date", "cache-control", "vary", "expires", "content-location", "via"}
    assert not_modified(Head(200, fields(*lines, "Last-Modified: m"))).fields.names() == kept | {"last-modified"}
    with_tag = not_modified(Head(200, fields(*lines, "Last-Modified: m", 'ETag: "a"'), "OK"))
    assert with_tag.fields.names() == kept | {"etag"}
    assert (with_tag.status, with_tag.reason) == (304, "Not Modified")


names = st.sampled_from(["ETag", "Last-Modified", "Date", "Age", "Vary", "Cache-Control", "Connection", "If-None-Match",
                         "If-Modified-Since", "Set-Cookie"])  # fmt: skip
values = st.one_of(
    st.text(max_size=15), st.sampled_from(['"a"', 'W/"a"', "Tue, 26 May 2026 19:26:40 GMT", "*", "etag, vary", "5"])
)
lines_of = st.lists(st.tuples(names, values), max_size=6).map(Fields)


@given(lines_of, lines_of, lines_of)
@settings(max_examples=200, derandomize=True)
def test_no_message_makes_validation_fail_and_content_fields_stay(
    stored: MakeCopy, request_to: MakeRequest, had: Fields, got: Fields, asked: Fields
) -> None:
    request = replace(request_to(), fields=asked)
    copy = stored(*(f"{name}: {value}" for name, value in had.raw), request=request)
    conditional(asked, [copy])
    is_not_modified(request, copy)
    not_modified(copy.head)
    confirmed(Head(304, got), [copy])
    new = after_304(copy, Head(304, got), request)
    assert new.head.fields.get("content-length") == copy.head.fields.get("content-length")
    assert new.etag == copy.etag or copy.etag is None
    assert new.age_s(LATER_S) >= 1
