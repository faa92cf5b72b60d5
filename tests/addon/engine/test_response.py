"""What becomes of the origin's answer."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.request import Ask, ask_again, on_request
from bestbefore.addon.engine.response import (
    AskUnconditionally,
    Confirmed,
    Fallback,
    Keep,
    Relay,
    Times,
    completed,
    is_of_new_object,
    not_admitted,
    observed,
    on_response,
    outcome_of,
    remembered,
    shows_object,
)
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import DomainRule

NOW_S = 1_706_300_000.0
TIMES = Times(NOW_S + 100, NOW_S + 100)
MakeRequest = Callable[..., Request]
MakeCopy = Callable[..., Copy]
ETAG = ("ETag", '"1"')


def asking(request: Request, copies: list[Copy], rule: DomainRule, site: Site) -> Ask:
    ask = on_request(request, copies, rule, site, NOW_S + 100)
    assert isinstance(ask, Ask)
    return ask


def head(status: int, *fields: tuple[str, str]) -> Head:
    return Head(status, Fields((("Date", format_http_date(NOW_S + 100)), *fields)))


def relayed(request: Request, answer: Head, rule: DomainRule, site: Site, copies: list[Copy] | None = None) -> Relay:
    decision = on_response(asking(request, copies or [], rule, site), answer, TIMES, rule, site)
    assert isinstance(decision, Relay)
    return decision


def test_an_answer_with_a_validator_is_stored_and_teaches(
    request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    request = request_for()
    relay = relayed(request, head(200, ETAG, ("Content-Length", "4")), rule, site)
    copy = completed(relay, BodyRef("abcd", 4), complete=True)
    assert copy is not None
    assert copy.body == BodyRef("abcd", 4)
    seen = observed(request, copy, "abcd", rule, relay.reported)
    assert (seen.t_s, seen.variant, seen.counted) == (NOW_S + 100, "", True)
    assert seen.fingerprint is not None
    assert (seen.fingerprint.etag, seen.fingerprint.body, seen.fingerprint.gone) == ('"1"', "abcd", False)


@pytest.mark.parametrize(("status", "size", "lengths"), [(200, 4, ("4",)), (200, 0, ("0",)), (204, 0, ())])
def test_a_stored_response_has_the_length_of_its_content(
    status: int, size: int, lengths: tuple[str, ...], request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    relay = relayed(request_for(), head(status, ETAG, ("Cache-Control", "max-age=60")), rule, site)
    copy = completed(relay, BodyRef("abcd", size), complete=True)
    assert copy is not None
    assert copy.head.fields.values("content-length") == lengths


@pytest.mark.parametrize("size", [3, 5])
def test_content_of_another_length_than_announced_is_never_stored(
    size: int, request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    relay = relayed(request_for(), head(200, ETAG, ("Content-Length", "4")), rule, site)
    assert completed(relay, BodyRef("abcd", size), complete=True) is None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ((("Cache-Control", "no-store"), ETAG), "no-store"),
        ((("Cache-Control", "private"), ETAG), "private"),
        ((("Set-Cookie", "a=b"), ETAG), "set-cookie"),
        ((("Vary", "*"), ETAG), "vary-star"),
        ((("Content-Type", "text/event-stream"), ETAG), "event-stream"),
    ],
)
def test_what_may_not_be_stored_is_passed_on_and_teaches_nothing(
    fields: tuple[tuple[str, str], ...], why: str, request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    relay = relayed(request_for(), head(200, *fields), rule, site)
    assert (relay.why_not_stored, relay.draft) == (why, None)


@pytest.mark.parametrize("length", ["1001", "0001001", "9" * 5000])
def test_what_is_too_large_is_not_stored_and_still_teaches(
    length: str, request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    relay = relayed(request_for(), head(200, ETAG, ("Content-Length", length)), rule, site)
    assert relay.why_not_stored == "too-large"
    assert relay.draft is not None


@pytest.mark.parametrize("vary", [(), (("Vary", "Accept-Language"),)])
def test_variants_are_distinguished_by_their_selecting_fields_alone(
    vary: tuple[tuple[str, str], ...], request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule
) -> None:
    asked = [request_for(("Accept-Language", language)) for language in ("en", "de")]
    seen = [observed(request, copy_with(ETAG, *vary, request=request), "d", rule, None) for request in asked]
    assert len({one.variant for one in seen}) == (2 if vary else 1)
    assert all(bool(one.variant) == bool(vary) for one in seen)


@pytest.mark.parametrize(
    ("group", "named", "counted_in"),
    [
        ("cache-groups", '"b", "a"', '"b"@http://example.org'),
        ("cache-groups", "b", ""),
        ("mine", '"b"', ""),
        (None, '"b"', ""),
    ],
)
def test_an_object_is_counted_with_the_first_group_that_its_response_names_where_the_rule_says_so(
    group: str | None, named: str, counted_in: str, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule
) -> None:
    grouped = replace(rule, group=group)
    seen = observed(request_for(), copy_with(ETAG, ("Cache-Groups", named)), "d", grouped, None)
    assert seen.cache_group == counted_in


def test_what_has_become_too_large_makes_the_old_copy_useless(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    """Else a request for a part would ask for the whole each time, to confirm a copy of what is no more."""
    stale = copy_with(("ETag", '"0"'), expiry_s=NOW_S)
    large = head(200, ETAG, ("Content-Length", "1001"))
    assert relayed(request_for(("Range", "bytes=0-1")), large, rule, site, [stale]).drops
    assert not relayed(request_for(), large, rule, site).drops


@pytest.mark.parametrize("status", [206, 404, 416])
def test_the_answer_to_a_request_for_a_part_is_not_stored_and_leaves_the_copy(
    status: int, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    stale = copy_with(("Cache-Control", "max-age=0, stale-if-error=600"))
    relay = relayed(request_for(("Range", "bytes=0-1")), head(status, ETAG), rule, site, [stale])
    assert (relay.why_not_stored, relay.draft, relay.drops) == ("partial", None, False)


def test_a_complete_response_is_stored_also_where_the_client_requested_a_range(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    stale = copy_with(ETAG, expiry_s=NOW_S)
    relay = relayed(request_for(("Range", "bytes=0-1")), head(404, ("Cache-Control", "max-age=9")), rule, site, [stale])
    assert relay.why_not_stored == ""


def test_an_object_without_validator_teaches_and_is_not_counted_in_its_group(
    request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    relay = relayed(request_for(), head(200), rule, site)
    assert relay.why_not_stored == "no-validator"
    assert relay.draft is not None
    assert not observed(request_for(), relay.draft, "x", rule, None).counted
    opted = replace(rule, learn_without_validator="always")
    assert observed(request_for(), relay.draft, "x", opted, None).counted


def test_a_304_to_our_validator_renews_the_copy(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG, ("X-A", "old"), expiry_s=NOW_S)
    ask = asking(request_for(), [copy], rule, site)
    decision = on_response(ask, head(304, ETAG, ("X-A", "new")), TIMES, rule, site)
    assert isinstance(decision, Confirmed)
    assert decision.keep is Keep.RENEWED
    assert decision.copy.head.fields.get("x-a") == "new"
    assert decision.copy.current_s == NOW_S + 100
    seen = observed(request_for(), decision.copy, None, rule, None)
    assert seen.fingerprint is None


def test_a_304_that_names_none_of_several_copies_leads_to_an_unconditional_question(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copies = [copy_with(ETAG, expiry_s=NOW_S), copy_with(("ETag", '"2"'), expiry_s=NOW_S, at_s=NOW_S - 5)]
    ask = asking(request_for(), copies, rule, site)
    assert isinstance(on_response(ask, head(304, ("ETag", '"other"')), TIMES, rule, site), AskUnconditionally)


def test_a_304_that_calls_the_only_copy_by_another_name_does_not_renew_it(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG, expiry_s=NOW_S)
    ask = asking(request_for(), [copy], rule, site)
    decision = on_response(ask, head(304, ("ETag", '"other"')), TIMES, rule, site)
    assert isinstance(decision, Confirmed)
    assert (decision.copy, decision.keep) == (copy, Keep.UNCHANGED)


def test_a_304_may_forbid_to_keep_the_copy(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    ask = asking(request_for(), [copy_with(ETAG, expiry_s=NOW_S)], rule, site)
    decision = on_response(ask, head(304, ETAG, ("Cache-Control", "no-store")), TIMES, rule, site)
    assert isinstance(decision, Confirmed)
    assert decision.keep is Keep.DROPPED


def test_a_304_to_the_clients_own_validator_counts_as_a_200_that_bears_it(
    request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    request = request_for(("If-None-Match", '"1"'))
    relay = relayed(request, head(304, ETAG), rule, site)
    assert relay.draft is not None
    assert completed(relay, BodyRef("", 0), complete=True) is None
    seen = observed(request, relay.draft, "", rule, None)
    assert seen.fingerprint is not None
    assert (seen.fingerprint.etag, seen.fingerprint.body) == ('"1"', "")
    secret = relayed(request, head(304, ETAG, ("Cache-Control", "private")), rule, site)
    assert secret.draft is None


@pytest.mark.parametrize(("status", "fields"), [(500, (ETAG,)), (206, (ETAG, ("Content-Range", "bytes 0-3/9")))])
def test_failures_and_parts_teach_nothing(
    status: int, fields: tuple[tuple[str, str], ...], request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    assert relayed(request_for(), head(status, *fields), rule, site).draft is None


def test_a_stale_copy_is_served_for_a_failing_origin_if_the_rule_allows_it(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG, expiry_s=NOW_S)
    lenient = replace(rule, stale_if_down_s=3600.0)
    ask = asking(request_for(), [copy], lenient, site)
    assert isinstance(on_response(ask, head(503), TIMES, lenient, site), Fallback)
    assert isinstance(on_response(asking(request_for(), [copy], rule, site), head(503), TIMES, rule, site), Relay)


def test_an_answer_that_may_not_be_kept_makes_the_old_copy_useless(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG, expiry_s=NOW_S)
    assert relayed(request_for(), head(200, ("Cache-Control", "no-store")), rule, site, [copy]).drops
    assert not relayed(request_for(), head(500), rule, site, [copy]).drops
    secretive = request_for(("Cache-Control", "no-store"))
    assert not relayed(secretive, head(200, ETAG), rule, site, [copy]).drops


@pytest.mark.parametrize(
    ("status", "drops"),
    [
        *((status, True) for status in (302, 400, 401, 403, 404, 410, 412, 451)),
        *((status, False) for status in (407, 408, 421, 425, 429, 500, 503)),
    ],
)
def test_a_word_about_who_asks_or_how_often_leaves_the_copy(
    status: int, drops: bool, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    stale = copy_with(ETAG, expiry_s=NOW_S)
    private = ("Cache-Control", "private")
    assert relayed(request_for(), head(status, private), rule, site, [stale]).drops is drops
    assert shows_object(status) is drops
    large = (("Cache-Control", "max-age=9"), ("Content-Length", "1001"))
    if status not in (412, 429):  # which are never stored, however small
        relay = relayed(request_for(), head(status, *large), rule, site, [stale])
        assert (relay.why_not_stored, relay.drops) == ("status" if status == 407 else "too-large", drops)


@pytest.mark.parametrize("status", [408, 429])
def test_it_is_passed_on_also_where_a_copy_would_stand_in_for_a_failing_origin(
    status: int, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    """RFC 9111 4.3.3 lets a cache do so for 5xx alone, and RFC 5861 4 counts no other status as an error."""
    lenient = replace(rule, stale_if_down_s=3600.0)
    stale = copy_with(ETAG, ("Cache-Control", "max-age=0, stale-if-error=600"))
    assert relayed(request_for(), head(status), lenient, site, [stale]).head.status == status


def test_a_head_renews_or_outdates_the_copy(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG, expiry_s=NOW_S)
    same = relayed(request_for(method="HEAD"), head(200, ETAG), rule, site, [copy])
    other = relayed(request_for(method="HEAD"), head(200, ("ETag", '"2"')), rule, site, [copy])
    assert [c.outdated for c in (*same.replaces, *other.replaces)] == [False, True]


def test_a_reported_history_is_read_from_trusted_origins_and_never_passed_on(
    request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    answer = head(200, ETAG, ("Update-History", "1706200000;since=1706100000"))
    assert relayed(request_for(), answer, rule, site).reported is None
    trusted = replace(rule, trust_piggyback=True)
    relay = relayed(request_for(), answer, trusted, site)
    assert relay.reported is not None
    assert relay.reported.times_s == (1706200000.0,)
    assert "update-history" not in relay.head.fields
    assert relay.draft is not None
    assert "update-history" not in relay.draft.head.fields


def test_a_redirect_elsewhere_is_a_change(request_for: MakeRequest, rule: DomainRule, site: Site) -> None:
    prints = []
    for location in ("/a", "/b"):
        answer = head(301, ("Location", location), ("Cache-Control", "max-age=5"))
        relay = relayed(request_for(), answer, rule, site)
        assert relay.draft is not None
        prints.append(observed(request_for(), relay.draft, "d", rule, None).fingerprint)
    assert prints[0] is not None
    assert prints[1] is not None
    assert prints[0].same_content(prints[1]) is False


@pytest.mark.parametrize(("status", "kept"), [(403, False), (429, False), (500, False), (404, True)])
def test_a_refusal_of_what_no_client_asked_is_neither_stored_nor_the_end_of_the_copy(
    status: int, kept: bool, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    ask = ask_again(request_for(), [copy_with(("ETag", '"a"'))], rule, site)
    assert ask is not None
    answer = head(status, ("Cache-Control", "max-age=600"), ("Content-Length", "4"))
    relay = on_response(ask, answer, TIMES, rule, site)
    assert isinstance(relay, Relay)
    assert (relay.why_not_stored == "", relay.drops) == (kept, False)


@pytest.mark.parametrize("status", [301, 308, 410])
def test_what_a_feed_says_for_good_is_stored_without_a_validator(
    request_for: MakeRequest, rule: DomainRule, site: Site, status: int
) -> None:
    relay = relayed(request_for(), head(status), rule, site)
    assert remembered(relay, was_feed=False) is relay
    kept = remembered(relay, was_feed=True)
    copy = completed(kept, BodyRef("abcd", 4), complete=True)
    assert copy is not None
    assert copy.for_good


@pytest.mark.parametrize(
    "answer", [head(302), head(404), head(200), head(301, ("Cache-Control", "no-store")), head(410, ("Vary", "*"))]
)
def test_nothing_else_that_stands_in_place_of_a_feed_is(
    request_for: MakeRequest, rule: DomainRule, site: Site, answer: Head
) -> None:
    relay = remembered(relayed(request_for(), answer, rule, site), was_feed=True)
    assert relay.why_not_stored


def test_a_304_that_takes_back_what_steers_reuse_renews_nothing(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG, expiry_s=NOW_S + 10)
    fields = (ETAG, ("Cache-Control", "no-store"), ("Connection", "Cache-Control"))
    decision = on_response(asking(request_for(), [copy], rule, site), head(304, *fields), TIMES, rule, site)
    assert isinstance(decision, Confirmed)
    assert decision.keep is Keep.DROPPED
    relay = on_response(
        asking(request_for(method="HEAD"), [copy], rule, site), head(200, *fields), TIMES, rule, site
    )
    assert isinstance(relay, Relay)
    assert relay.replaces == ()


def test_only_an_answer_without_a_copy_before_it_brings_a_new_object(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    answer = head(200, ETAG)
    first = asking(request_for(), [], rule, site)
    relay = relayed(request_for(), answer, rule, site)
    assert is_of_new_object(first, relay)
    assert not is_of_new_object(asking(request_for(), [copy_with(ETAG)], rule, site), relay)
    passed = not_admitted(relay)
    assert (passed.head, passed.why_not_stored, passed.draft) == (relay.head, "too-many-objects", None)
    assert not is_of_new_object(first, passed)


@pytest.mark.parametrize(
    ("status", "outcome"), [(200, Outcome.UPDATED), (404, Outcome.UPDATED), (403, Outcome.PASSED_ON)]
)
def test_what_came_in_place_of_a_copy_has_a_word(
    status: int, outcome: Outcome, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(ETAG)
    relay = relayed(request_for(), head(status), rule, site, [copy])
    ask = asking(request_for(), [copy], rule, site)
    assert outcome_of(ask, relay) is outcome
    assert outcome_of(asking(request_for(), [], rule, site), relay) is Outcome.MISS
    assert outcome_of(asking(request_for(method="POST"), [copy], rule, site), relay) is Outcome.BYPASS
