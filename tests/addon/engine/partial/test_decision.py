"""Decisions on requests for which only parts are stored."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bestbefore.addon.engine.partial.decision import (
    Joining,
    ServeParts,
    combined,
    continues,
    for_gap,
    joining,
    may_use_parts,
    on_failure_with_parts,
    on_parts,
    without_rest,
)
from bestbefore.addon.engine.request import Ask, Refuse, on_request
from bestbefore.addon.engine.response import TOO_LARGE, Relay, Times, completed, on_response
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.storing import NoStore, copy_of
from bestbefore.addon.rfc9111.conditional.parts import NEAR_BYTES, Place, partition_of, place
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import DomainRule
from tests.addon.engine.conftest import NOW_S

ETAG = ("ETag", '"1"')
FRESH = ("Cache-Control", "max-age=60")
type Ask_ = Callable[..., Request]


def head_of(start: int, end: int, *fields: tuple[str, str], size: int = 100) -> Head:
    lines = ("Content-Range", f"bytes {start}-{end - 1}/{size}"), ("Content-Length", str(end - start))
    return Head(206, Fields((("Date", format_http_date(NOW_S)), *lines, *(fields or (ETAG, FRESH)))), "Partial Content")


def part(request: Request, start: int, end: int, *fields: tuple[str, str], at_s: float = NOW_S) -> Copy:
    made = copy_of(
        request, head_of(start, end, *fields), BodyRef("d", end - start),
        request_time_s=at_s, response_time_s=at_s, salt=b"salt",
    )  # fmt: skip
    return replace(made, partition=partition_of(""), part_number=1)


@pytest.fixture
def decide(rule: DomainRule, site: Site) -> Callable[..., Any]:
    """Decides on a request with these parts."""

    def made(
        request: Request, *parts: Copy, copies: tuple[Copy, ...] = (), now_s: float = NOW_S, offline: bool = False
    ) -> Any:
        where = replace(site, offline=offline)
        decision = on_request(request, (), rule, where, now_s)
        if not may_use_parts(request, decision):
            return decision
        return on_parts(request, decision, parts, copies, rule, where, now_s)

    return made


def test_covered_ranges_are_served_while_fresh(request_for: Ask_, decide: Any) -> None:
    plain = request_for()
    stored = [part(plain, 0, 50), part(plain, 50, 80)]
    for wanted in ("bytes=0-9", "bytes=45-55", "bytes=0-3,70-79"):
        assert isinstance(decide(request_for(("Range", wanted)), *stored), ServeParts), wanted
    assert isinstance(decide(plain, part(plain, 0, 100)), ServeParts)
    without_validator = part(plain, 0, 50, FRESH)
    assert isinstance(decide(request_for(("Range", "bytes=0-9")), without_validator), ServeParts)
    assert decide(request_for(("Range", "bytes=45-55")), without_validator).rest is None
    stale = decide(request_for(("Range", "bytes=0-9")), stored[0], now_s=NOW_S + 99, offline=True)
    assert isinstance(stale, ServeParts)


@pytest.mark.parametrize(
    "fields",
    [
        (("Range", "bytes=0-9"), ("If-Range", '"2"')),
        (("Range", "bytes=0-9"), ("If-None-Match", '"1"')),
        (("Range", "bytes=200-"),),
        (("Range", "items=0-9"),),
        (("Range", "bytes=90-99"),),
        (("Range", "bytes=0-3,90-99"),),
        (("Range", "bytes=0-9"), ("Cache-Control", "no-cache"), ("If-Modified-Since", format_http_date(NOW_S))),
    ],
)
def test_other_requests_are_sent_as_they_are(request_for: Ask_, decide: Any, fields: Any) -> None:
    request = request_for(*fields)
    got = decide(request, part(request_for(), 0, 50))
    assert isinstance(got, Ask)
    assert got.rest is None
    assert got.sent.fields.get("range") == request.fields.get("range")


def test_the_origin_is_asked_for_what_is_missing(request_for: Ask_, decide: Any) -> None:
    plain = request_for()
    for request, stored, expected in (
        (plain, [part(plain, 0, 50)], "bytes=50-"),
        (plain, [part(plain, 50, 100)], "bytes=0-49"),
        (plain, [part(plain, 0, 10), part(plain, 20, 30), part(plain, 90, 100)], "bytes=10-89"),
        (request_for(("Range", "bytes=40-69")), [part(plain, 0, 50)], "bytes=50-69"),
        (request_for(("Range", "bytes=40-69")), [part(plain, 0, 50, at_s=NOW_S - 99)], "bytes=50-69"),
    ):
        got = decide(request, *stored)
        assert (got.sent.fields.get("range"), got.sent.fields.get("if-range")) == (expected, '"1"')
        assert without_rest(got).sent.fields.get("range") == request.fields.get("range")
        assert (got.chosen, got.candidates) == (None, ())


def test_gaps_that_lie_far_apart_are_asked_for_one_by_one(request_for: Ask_, decide: Any) -> None:
    size = 4 * NEAR_BYTES
    plain = request_for()
    parts = [replace(part(plain, *span), head=head_of(*span, size=size)) for span in ((0, 9), (99, 2 * NEAR_BYTES))]
    got = decide(plain, *parts)
    assert got.rest.gaps == (Span(9, 99), Span(2 * NEAR_BYTES, size))
    assert got.sent.fields.get("range") == "bytes=9-98"
    further = for_gap(got, got.rest.gaps[1])
    assert further.sent.fields.get("range") == further.request.fields.get("range") == f"bytes={2 * NEAR_BYTES}-"
    assert further.sent.fields.get("if-range") == '"1"'
    assert further.rest is not None
    assert further.rest.gaps == (Span(2 * NEAR_BYTES, size),)


def test_a_further_response_continues_the_first_only_if_it_is_of_its_version_and_for_the_same_requests(
    request_for: Ask_, decide: Any, rule: DomainRule, site: Site
) -> None:
    size = 4 * NEAR_BYTES
    request = request_for()
    stored = replace(part(request, 9, 2 * NEAR_BYTES), head=head_of(9, 2 * NEAR_BYTES, size=size))
    ask = for_gap(decide(request, stored), Span(2 * NEAR_BYTES, size))

    def goes_on(*fields: tuple[str, str], first: Head | None = None) -> bool:
        head = head_of(2 * NEAR_BYTES, size, *fields, size=size)
        first = first or head_of(0, 9, size=size)
        return continues(ask, head, first, Times(NOW_S, NOW_S), rule, replace(site, max_cached_file=10**9))

    private = ETAG, ("Cache-Control", "private")
    assert goes_on()
    assert goes_on(ETAG, ("Cache-Control", "max-age=1"))
    assert not goes_on(("ETag", '"2"'), FRESH)
    assert not goes_on(*private)
    assert not goes_on(ETAG, FRESH, ("Vary", "Cookie"))
    assert goes_on(*private, first=head_of(0, 9, *private, size=size))
    assert not continues(ask, Head(200, Fields((ETAG,))), head_of(0, 9), Times(NOW_S, NOW_S), rule, site)


def test_what_was_fetched_with_a_cookie_is_not_completed_without_one(request_for: Ask_, decide: Any) -> None:
    mine, yours = request_for(("Cookie", "me")), request_for(("Cookie", "you"))
    for fetched, asked in ((request_for(), request_for()), (mine, yours)):
        assert decide(asked, part(fetched, 0, 50)).rest is not None
    for fetched, asked in ((mine, request_for()), (request_for(), yours)):
        assert decide(asked, part(fetched, 0, 50)).rest is None


def test_stale_parts_that_cover_the_range_are_validated(request_for: Ask_, decide: Any) -> None:
    stale = part(request_for(), 0, 50, at_s=NOW_S - 99)
    got = decide(request_for(("Range", "bytes=0-9")), stale)
    assert (got.sent.fields.get("if-none-match"), got.sent.fields.get("range")) == ('"1"', "bytes=0-9")
    assert "if-range" not in got.sent.fields
    assert got.rest.gaps == ()


def test_parts_answer_a_failure_if_they_cover_the_range_and_may_be_stale(
    request_for: Ask_, decide: Any, rule: DomainRule
) -> None:
    lenient = ("Cache-Control", "max-age=60, stale-if-error=600")
    for fields, wanted, expected in (
        ((ETAG, lenient), "bytes=0-9", True),
        ((lenient,), "bytes=0-9", True),
        ((ETAG, lenient), "bytes=0-3,30-39", True),
        ((ETAG, lenient), "bytes=40-59", False),
        ((ETAG, FRESH), "bytes=0-9", False),
        ((ETAG, ("Cache-Control", "max-age=60, stale-if-error=600, must-revalidate")), "bytes=0-9", False),
    ):
        ask = decide(request_for(("Range", wanted)), part(request_for(), 0, 50, *fields, at_s=NOW_S - 99))
        serve = on_failure_with_parts(ask, rule, NOW_S)
        assert (serve is not None) is expected, (fields, wanted)
        assert on_failure_with_parts(without_rest(ask), rule, NOW_S) is None
    unchanged = decide(request_for(("Range", "bytes=0-9")), part(request_for(), 0, 50, lenient, at_s=NOW_S - 99))
    assert unchanged.sent is unchanged.rest.otherwise
    assert joining(unchanged, Head(304, Fields())) is Joining.FORWARDED


def test_a_head_request_is_answered_from_a_fresh_part(request_for: Ask_, decide: Any) -> None:
    request = request_for(method="HEAD")
    assert isinstance(decide(request, part(request_for(), 0, 50)), ServeParts)
    assert decide(request, part(request_for(), 0, 50, at_s=NOW_S - 99)).rest is None


def test_parts_older_than_a_complete_response_are_not_used(request_for: Ask_, decide: Any, copy_with: Any) -> None:
    request = request_for(("Range", "bytes=0-9"))
    old = part(request_for(), 0, 50, at_s=NOW_S - 10)
    newer = copy_with(("ETag", '"2"'), at_s=NOW_S - 5)
    assert decide(request, old, copies=(newer,)).rest is None
    assert isinstance(decide(request, part(request_for(), 0, 50), copies=(newer,)), ServeParts)


def test_parts_are_for_the_requests_that_their_variant_is_for(request_for: Ask_, decide: Any) -> None:
    german = request_for(("Accept-Language", "de"))
    stored = part(german, 0, 50, ETAG, FRESH, ("Vary", "Accept-Language"))
    wanted = ("Range", "bytes=0-9")
    assert isinstance(decide(request_for(wanted, ("Accept-Language", "de")), stored), ServeParts)
    assert decide(request_for(wanted, ("Accept-Language", "fr")), stored).rest is None


def test_without_contact_only_what_is_covered_is_served(request_for: Ask_, decide: Any) -> None:
    cached = ("Cache-Control", "only-if-cached")
    stored = part(request_for(), 0, 50)
    assert isinstance(decide(request_for(("Range", "bytes=0-9"), cached), stored), ServeParts)
    assert isinstance(decide(request_for(("Range", "bytes=0-60"), cached), stored), Refuse)


def test_the_response_completes_the_parts_only_if_it_is_of_their_version(request_for: Ask_, decide: Any) -> None:
    request = request_for()
    ask = decide(request, part(request, 0, 50))
    assert joining(ask, head_of(50, 100)) is Joining.COMBINED
    for other in (
        head_of(50, 100, ("ETag", '"2"')),
        head_of(50, 100, ("ETag", 'W/"1"')),
        head_of(50, 100, FRESH),
        head_of(50, 99),
        Head(206, head_of(50, 100).fields.replaced("Content-Length", "49")),
        head_of(50, 101, size=101),
        head_of(50, 100, ETAG, ("Connection", "ETag")),
        Head(416, Fields()),
        Head(304, Fields((ETAG,))),
    ):
        assert joining(ask, other) is Joining.USELESS, other
    for status in (200, 404, 503):
        assert joining(ask, Head(status, Fields((ETAG,)))) is Joining.FORWARDED
    stale = decide(request_for(("Range", "bytes=0-9")), part(request, 0, 50, at_s=NOW_S - 99))
    assert joining(stale, Head(304, Fields((ETAG,)))) is Joining.COMBINED
    assert joining(stale, Head(304, Fields((("ETag", '"2"'),)))) is Joining.USELESS
    assert joining(stale, head_of(0, 10, ("ETag", '"2"'))) is Joining.FORWARDED


def test_the_combined_response_has_the_latest_fields(request_for: Ask_, decide: Any) -> None:
    plain = request_for()
    stored = part(plain, 0, 50, ETAG, FRESH, ("A", "1"), ("Content-Type", "video/mp4"))
    rest = decide(plain, stored).rest
    made = combined(rest, plain, head_of(50, 100, ETAG, ("A", "2"), ("Cache-Control", "max-age=9")))
    assert (made.status, made.fields.get("content-length"), made.fields.get("a")) == (200, "100", "2")
    assert (made.fields.get("content-type"), made.fields.get("cache-control")) == ("video/mp4", "max-age=9")
    ranged = request_for(("Range", "bytes=40-69"))
    made = combined(decide(ranged, stored).rest, ranged, head_of(50, 70))
    assert place(made) == (Span(40, 70), 100)


def test_a_206_is_stored_as_a_part_of_the_whole_that_might_be_stored(
    request_for: Ask_, rule: DomainRule, site: Site
) -> None:
    request = request_for(("Range", "bytes=0-49"))

    def relay(head: Head, request: Request = request) -> Relay:
        ask = on_request(request, (), rule, site, NOW_S)
        assert isinstance(ask, Ask)
        got = on_response(ask, head, Times(NOW_S, NOW_S), rule, site)
        assert isinstance(got, Relay)
        return got

    stored = relay(head_of(0, 50))
    assert (stored.why_not_stored, stored.draft is not None and stored.draft.partition) == ("", partition_of(""))
    assert completed(stored, BodyRef("d", 50), complete=True) is not None
    assert completed(stored, BodyRef("d", 49), complete=True) is None
    assert relay(head_of(0, 50, size=10**6)).why_not_stored == ""
    assert relay(head_of(0, 5000, size=10**6)).why_not_stored == TOO_LARGE
    assert relay(head_of(0, 50, ETAG, ("Cache-Control", "private"))).why_not_stored == NoStore.PRIVATE
    assert relay(head_of(0, 50), request_for()).why_not_stored == NoStore.PARTIAL
    wrong = Head(206, head_of(4, 10, size=10).fields.replaced("Content-Length", "5"))
    assert relay(wrong).why_not_stored == NoStore.PARTIAL, "it could be combined, and its place is not certain"


def test_content_that_is_shorter_than_its_range_is_its_start_and_answers_alone(
    request_for: Ask_, rule: DomainRule, site: Site, decide: Any
) -> None:
    request = request_for(("Range", "bytes=-5"))
    ask = on_request(request, (), rule, site, NOW_S)
    assert isinstance(ask, Ask)
    head = Head(206, head_of(4, 10, FRESH, size=10).fields.replaced("Content-Length", "5"))
    relay = on_response(ask, head, Times(NOW_S, NOW_S), rule, site)
    assert isinstance(relay, Relay)
    stored = completed(relay, BodyRef("d", 5), complete=True)
    assert stored is not None
    assert (place(stored.head), stored.asked_range) == (Place(Span(4, 9), 10), "bytes=-5")
    assert completed(relay, BodyRef("d", 7), complete=True) is None
    same = decide(request, stored)
    assert isinstance(same, ServeParts)
    assert same.as_stored
    within = decide(request_for(("Range", "bytes=6-8")), stored)
    assert isinstance(within, ServeParts)
    assert not within.as_stored
    for fields in (
        (("Range", "bytes=6-"),),
        (("Range", "bytes=-1"),),
        (("Range", "bytes=-5"), ("If-Range", '"1"')),
        (("Range", "bytes=-5"), ("Cache-Control", "no-cache")),
        (),
    ):
        assert decide(request_for(*fields), stored).rest is None
    assert decide(request, stored, now_s=NOW_S + 99).rest is None
