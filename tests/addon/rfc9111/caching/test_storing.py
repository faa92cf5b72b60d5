from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.storing import NoStore, copy_of, is_truncated, why_not_store
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]
type MakeHead = Callable[..., Head]
type MakeFields = Callable[..., Fields]

RECEIVED_S = 1_779_827_200.0  # Tue, 26 May 2026 20:26:40 GMT
VALIDATOR = 'ETag: "a"'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["Cache-Control: max-age=60"], None),
        (["Expires: Tue, 26 May 2026 21:26:40 GMT"], None),
        ([VALIDATOR], None),
        (["Last-Modified: Tue, 26 May 2026 19:26:40 GMT"], None),
        (["Cache-Control: no-cache", VALIDATOR], None),
        (["Cache-Control: max-age=60, No-Store"], NoStore.NO_STORE),
        (["Cache-Control: max-age=60", "Cache-Control: no-store"], NoStore.NO_STORE),
        (["Cache-Control: max-age=60, private"], NoStore.PRIVATE),
        (['Cache-Control: max-age=60, private="a"'], None),
        (["Cache-Control: max-age=60, 'private'"], NoStore.PRIVATE),
        (["Cache-Control: max-age=60, private='a'"], NoStore.PRIVATE),
        (["Cache-Control: 'no-store', max-age=60"], NoStore.NO_STORE),
        (["Cache-Control: no-store, must-understand, max-age=60"], None),
        (["Cache-Control: max-age=60", "Vary: *"], NoStore.VARY),
        (["Cache-Control: max-age=60", "Vary: a", "Vary: , *"], NoStore.VARY),
        (["Cache-Control: max-age=60", "Vary: a b"], NoStore.VARY),
        (["Cache-Control: max-age=60", "Set-Cookie: a=b"], None),
        ([VALIDATOR, "Set-Cookie: a=b"], NoStore.SET_COOKIE),
        (["Cache-Control: public", VALIDATOR, "Set-Cookie: a=b"], NoStore.SET_COOKIE),
        (["Cache-Control: max-age=60", "Connection: close, Vary"], NoStore.CONNECTION),
        (["Cache-Control: max-age=60", "Connection: Content-Length"], NoStore.CONNECTION),
        (["Cache-Control: max-age=60", "Connection: ETag", 'ETag: "1"'], NoStore.CONNECTION),
        (["Cache-Control: max-age=60", "Connection: Set-Cookie", "Set-Cookie: a=b"], NoStore.CONNECTION),
        (["Cache-Control: max-age=60", "Connection: keep-alive, Transfer-Encoding, X-A"], None),
        (["Cache-Control: max-age=60", "Content-Type: text/event-stream; charset=utf-8"], NoStore.EVENT_STREAM),
        ([], NoStore.NEVER_USABLE),
        (["ETag: unquoted", "Last-Modified: yesterday"], NoStore.NEVER_USABLE),
        (["Cache-Control: max-age=1"], None),
        (["Cache-Control: max-age=0"], NoStore.NEVER_USABLE),
        (["Expires: 0"], NoStore.NEVER_USABLE),
        (["Cache-Control: no-cache, max-age=60"], NoStore.NEVER_USABLE),
        (["Cache-Control: max-age=0, stale-if-error=60"], None),
        (["Cache-Control: max-age=0, stale-while-revalidate=60"], None),
    ],
)
def test_a_200_is_stored_if_nothing_forbids_it_and_something_makes_it_useful(
    request_to: MakeRequest, response: MakeHead, lines: list[str], reason: NoStore | None
) -> None:
    assert why_not_store(request_to(), response(*lines), RECEIVED_S) is reason


def test_a_rule_may_have_a_use_for_copies_without_validator(
    request_to: MakeRequest, response: MakeHead
) -> None:
    for status, reason in ((200, None), (302, NoStore.NOT_CACHEABLE)):
        assert why_not_store(request_to(), response(status=status), RECEIVED_S, without_validator=True) is reason


@pytest.mark.parametrize(
    ("status", "explicit", "heuristic"),
    [
        *((code, None, None) for code in (200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501)),
        *((code, None, NoStore.NOT_CACHEABLE) for code in (201, 299, 302, 303, 307, 400, 403, 499, 500, 502, 503, 599)),
        *((code, NoStore.STATUS, NoStore.STATUS) for code in (100, 101, 103, 304, 407, 412, 416, 428, 429, 431, 511)),
        *((code, NoStore.STATUS, NoStore.STATUS) for code in (-1, 0, 1, 99, 600, 999)),
        (206, NoStore.PARTIAL, NoStore.PARTIAL),
    ],
)
def test_which_statuses_are_stored_with_and_without_explicit_lifetime(
    request_to: MakeRequest,
    response: MakeHead,
    status: int,
    explicit: NoStore | None,
    heuristic: NoStore | None,
) -> None:
    fresh, validated = response("Cache-Control: max-age=60", status=status), response(VALIDATOR, status=status)
    assert why_not_store(request_to(), fresh, RECEIVED_S) is explicit
    assert why_not_store(request_to(), validated, RECEIVED_S) is heuristic


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        *((code, None) for code in (*range(200, 206), *range(300, 304), 307, 308, *range(400, 407), *range(408, 412))),
        *((code, None) for code in (413, 414, 415, 417, 421, 422, 426, *range(500, 506))),
        *((code, NoStore.NOT_UNDERSTOOD) for code in (207, 299, 305, 306, 418, 425, 451, 499, 506, 599)),
        *((code, NoStore.STATUS) for code in (226, 304, 412, 416)),
    ],
)
def test_must_understand_takes_the_place_of_no_store_where_the_status_is_known(
    request_to: MakeRequest, response: MakeHead, status: int, reason: NoStore | None
) -> None:
    head = response("Cache-Control: max-age=3600, no-store, must-understand", status=status)
    assert why_not_store(request_to(), head, RECEIVED_S) is reason


@pytest.mark.parametrize("status", [400, 403, 405, 413, 414, 421, 494, 500, 501, 503])
def test_an_error_that_may_be_about_the_fields_of_the_request_is_not_stored(
    request_to: MakeRequest, response: MakeHead, status: int
) -> None:
    error = response("Cache-Control: max-age=60", status=status)
    for lines in (["X: " + "x" * 5000], ["X: 1", "X: 2"]):
        assert why_not_store(request_to(*lines), error, RECEIVED_S) is NoStore.UNUSUAL_REQUEST
        for other in (200, 301, 404, 410):
            assert why_not_store(request_to(*lines), replace(error, status=other), RECEIVED_S) is None
    assert why_not_store(request_to("X: 1", "Y: 2"), error, RECEIVED_S) is None


@pytest.mark.parametrize(
    ("directive", "reason"),
    [
        ("max-age=60", NoStore.AUTHORIZATION),
        ("max-age=60, public", None),
        ("max-age=60, must-revalidate", None),
        ("s-maxage=60", None),
        ("max-age=60, proxy-revalidate", NoStore.AUTHORIZATION),
    ],
)
def test_an_answer_to_authorization_is_stored_only_if_a_directive_allows_it(
    request_to: MakeRequest, response: MakeHead, directive: str, reason: NoStore | None
) -> None:
    request = request_to("Authorization: Basic x")
    assert why_not_store(request, response(f"Cache-Control: {directive}"), RECEIVED_S) is reason


def test_the_request_may_forbid_to_store_its_answer(
    request_to: MakeRequest, response: MakeHead
) -> None:
    ok = response("Cache-Control: max-age=60")
    for request, reason in (
        (request_to("Cache-Control: no-store"), NoStore.REQUEST_NO_STORE),
        (request_to("X-Forwarded-Host: evil"), NoStore.REQUEST),
        (request_to(has_body=True), NoStore.REQUEST),
        (request_to(method="HEAD"), NoStore.METHOD),
        (request_to(method="POST"), NoStore.METHOD),
    ):
        assert why_not_store(request, ok, RECEIVED_S) is reason
        assert reason.lies_in_the_request
    assert not NoStore.NO_STORE.lies_in_the_request


def test_a_request_for_a_part_may_bring_a_whole_but_never_another_status(
    request_to: MakeRequest, response: MakeHead
) -> None:
    request = request_to("Range: bytes=0-1")
    for status, reason in ((200, None), (206, NoStore.PARTIAL), (404, NoStore.PARTIAL), (416, NoStore.PARTIAL)):
        assert why_not_store(request, response("Cache-Control: max-age=60", status=status), RECEIVED_S) is reason


@pytest.mark.parametrize(
    ("lines", "truncated"),
    [
        ([], False),
        (["Content-Length: 5"], False),
        (["Content-Length: 005"], False),
        (["Content-Length: 5, 5", "Content-Length: 5"], False),
        (["Content-Length: 6"], True),
        (["Content-Length: 5, 6"], True),
        (["Content-Length: five"], True),
        (["Content-Length: -5"], True),
    ],
)
def test_content_that_is_not_as_long_as_announced_is_seen(
    fields: MakeFields, lines: list[str], truncated: bool
) -> None:
    assert is_truncated(fields(*lines), 5) is truncated
    assert not is_truncated(fields("Content-Length: 00"), 0)


def test_a_copy_keeps_all_fields_but_those_of_the_connection_and_those_named_as_not_to_be_kept(
    stored: MakeCopy,
) -> None:
    copy = stored(
        "Date: Tue, 26 May 2026 20:26:40 GMT", "Connection: a, close", "a: 1", "Keep-Alive: 5", "Proxy-Authenticate: x",
        "Unknown: 2", "Set-Cookie: x=y", "set-cookie: z", 'Cache-Control: max-age=60, no-cache="b", private="c, d"',
        "b: 1", "C: 1", "d: 1", "Age: 7", "Content-Length: 5",
    )  # fmt: skip
    assert copy.head.fields.raw == (
        ("Date", "Tue, 26 May 2026 20:26:40 GMT"),
        ("Unknown", "2"),
        ("Set-Cookie", "x=y"),
        ("set-cookie", "z"),
        ("Cache-Control", 'max-age=60, no-cache="b", private="c, d"'),
        ("Content-Length", "5"),
    )
    assert not copy.cache_control.no_cache


@pytest.mark.parametrize("date", ["Date: ", "Date: foo"])
def test_a_copy_gets_the_date_of_its_receipt_and_its_length_if_it_had_none(
    stored: MakeCopy, date: str
) -> None:
    copy = stored(date, "Cache-Control: max-age=60")
    assert copy.head.fields.get("date") == "Tue, 26 May 2026 20:26:40 GMT"
    assert copy.head.fields.get("content-length") == "5"
    assert copy.current_s == copy.date_s == RECEIVED_S
    assert "content-length" not in stored("Cache-Control: max-age=60", status=204).head.fields


def test_a_copy_remembers_when_it_was_current_and_who_asked(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    request = request_to("Cookie: a=b", "Authorization: x", "Foo: 1")
    copy = stored(
        "Cache-Control: public, max-age=60", "Age: 30", "Vary: foo, Bar", request=request, request_time_s=RECEIVED_S - 2
    )
    assert copy.current_s == RECEIVED_S - 32
    assert copy.http_expiry_s == RECEIVED_S + 28
    assert (copy.fetched_with_cookie, copy.fetched_with_authorization) == (True, True)
    assert copy.selecting == (("bar", None), ("foo", "1"))
    assert copy.url == "http://example.org/page"


names = st.sampled_from([
    "Cache-Control", "Date", "Age", "Expires", "Vary", "ETag", "Last-Modified", "Connection", "Set-Cookie",
    "Content-Length",
])  # fmt: skip
values = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["max-age=60", "no-store", "*", '"a"', "Tue, 26 May 2026 20:26:40 GMT", "5", 'private="a']),
)
lines = st.lists(st.tuples(names, values), max_size=8)


@given(lines, lines, st.integers(-1, 700))
@settings(max_examples=200, derandomize=True)
def test_no_message_makes_storing_fail_and_what_is_stored_can_be_dated(
    asked: list[tuple[str, str]], answered: list[tuple[str, str]], status: int
) -> None:
    request, head = Request("GET", Target.parse("https://example.org/"), Fields(asked)), Head(status, Fields(answered))
    reason = why_not_store(request, head, RECEIVED_S)
    copy = copy_of(request, head, BodyRef("0", 5), request_time_s=RECEIVED_S, response_time_s=RECEIVED_S, salt=b"")
    assert copy.age_s(RECEIVED_S) >= 0
    assert copy.cache_control.no_store <= (reason is not None or copy.cache_control.must_understand)


def test_what_a_long_field_selected_is_not_stored_and_ends_no_copy(request_to: MakeRequest, response: MakeHead) -> None:
    head, long = response("Cache-Control: max-age=60", "Vary: Accept-Language"), "en, " * 14_000
    why = why_not_store(request_to(f"Accept-Language: {long}"), head, RECEIVED_S)
    assert why is NoStore.LONG_FIELD
    assert why.lies_in_the_request
    assert why_not_store(request_to(f"Foo: {long}"), head, RECEIVED_S) is None
