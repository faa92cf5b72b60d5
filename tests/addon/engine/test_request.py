"""What becomes of a request."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bestbefore.addon.engine.request import (
    Ask,
    Load,
    Refuse,
    Serve,
    ask_again,
    misframed,
    on_request,
    received,
    unconditional,
)
from bestbefore.addon.engine.response import Relay, Times, completed, on_response
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.vary import choose
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.rules import DomainRule

NOW_S = 1_706_300_000.0
MakeRequest = Callable[..., Request]
MakeCopy = Callable[..., Copy]


def test_without_a_copy_the_origin_is_asked(request_for: MakeRequest, rule: DomainRule, site: Site) -> None:
    ask = on_request(request_for(("Accept-Encoding", "br, gzip, x"), ("Connection", "x-a"), ("X-A", "1")), [], rule,
                     site, NOW_S)
    assert isinstance(ask, Ask)
    assert (ask.fwd, ask.bypass, ask.candidates) == (Fwd.URI_MISS, False, ())
    assert ask.sent.fields.raw == (("Accept-Encoding", "gzip, br"), ("Via", "1.1 bestbefore-1"))


def test_a_learned_expiry_serves_until_it_and_validates_from_it_on(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(("ETag", '"1"'), expiry_s=NOW_S + 10)
    served = on_request(request_for(), [copy], rule, site, NOW_S + 9.5)
    assert isinstance(served, Serve)
    assert (served.copy, served.reuse.reason, served.reuse.ttl_s) == (copy, "ttl", 0.5)
    ask = on_request(request_for(("If-None-Match", '"0"')), [copy], rule, site, NOW_S + 10)
    assert isinstance(ask, Ask)
    assert (ask.fwd, ask.detail, ask.candidates) == (Fwd.STALE, "ttl", (copy,))
    assert ask.sent.fields.get("if-none-match") == '"1"', "the client's own condition is answered from our copy"
    assert "if-none-match" not in unconditional(ask).sent.fields


def test_with_some_of_the_copies_only_what_needs_no_others_is_decided(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    fresh, expired = (copy_with(("ETag", '"1"'), expiry_s=NOW_S + in_s) for in_s in (10, -10))
    refreshed = copy_with(("ETag", '"1"'), ("Cache-Control", "max-age=9, stale-while-revalidate=60"), at_s=NOW_S - 10)
    offline = replace(site, offline=True)
    for request, copies, where, expected in (
        (request_for(), [fresh], site, Serve),
        (request_for(), [], site, Load),
        (request_for(), [expired], site, Load),
        (request_for(), [refreshed], site, Load),
        (request_for(), [expired], offline, Load),
        (request_for(("Cache-Control", "only-if-cached")), [], site, Load),
        (request_for(("Via", "1.1 bestbefore-1")), [], site, Refuse),
        (request_for(method="POST"), [], site, Ask),
    ):
        assert isinstance(on_request(request, copies, rule, where, NOW_S, complete=False), expected)
        assert not isinstance(on_request(request, copies, rule, where, NOW_S), Load)


def test_without_validator_nothing_learned_is_used(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(expiry_s=NOW_S + 10)
    assert isinstance(on_request(request_for(), [copy], rule, site, NOW_S), Ask)
    opted = replace(rule, learn_without_validator="always")
    assert isinstance(on_request(request_for(), [copy], opted, site, NOW_S), Serve)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ((("X-Forwarded-Host", "evil"),), "unkeyed-field"),
        ((("If-Match", '"1"'), ("Range", "bytes=0-1")), "precondition"),
        ((("If-Match", '"1"'),), "precondition"),
        ((("Host", "other.example"),), "host-mismatch"),
        ((("Host", "example.org"), ("Host", "example.org")), "host-mismatch"),
    ],
)
def test_some_requests_go_past_the_cache(
    fields: tuple[tuple[str, str], ...],
    why: str,
    request_for: MakeRequest,
    copy_with: MakeCopy,
    rule: DomainRule,
    site: Site,
) -> None:
    fresh = copy_with(("Cache-Control", "max-age=100"))
    ask = on_request(request_for(*fields), [fresh], rule, site, NOW_S)
    assert isinstance(ask, Ask)
    assert (ask.fwd, ask.detail) == (Fwd.BYPASS, why)
    assert ask.bypass


@pytest.mark.parametrize("host", ["example.org", "Example.ORG", "example.org:80", "example.org.", "example.org.:80"])
def test_the_hosts_own_names_are_no_mismatch(
    host: str, request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    fresh = copy_with(("Cache-Control", "max-age=100"))
    assert isinstance(on_request(request_for(("Host", host)), [fresh], rule, site, NOW_S), Serve)


def test_a_request_that_has_passed_us_before_is_a_loop(request_for: MakeRequest, rule: DomainRule, site: Site) -> None:
    request = request_for(("Via", "1.1 squid, 1.1 bestbefore-1"))
    assert on_request(request, [], rule, site, NOW_S) == Refuse(508, "loop")
    assert isinstance(on_request(request_for(("Via", "1.1 bestbefore-2")), [], rule, site, NOW_S), Ask)


def test_only_if_cached_never_asks(request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site) -> None:
    request = request_for(("Cache-Control", "only-if-cached"))
    assert on_request(request, [], rule, site, NOW_S) == Refuse(504, "only-if-cached")
    stale = copy_with(("ETag", '"1"'), expiry_s=NOW_S)
    assert on_request(request, [stale], rule, site, NOW_S) == Refuse(504, "only-if-cached")
    fresh = copy_with(("ETag", '"1"'), expiry_s=NOW_S + 1)
    assert isinstance(on_request(request, [fresh], rule, site, NOW_S), Serve)


def test_offline_serves_what_is_stored_and_contacts_no_origin(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    offline = replace(site, offline=True)
    stale = copy_with(("ETag", '"1"'), expiry_s=NOW_S)
    served = on_request(request_for(), [stale], rule, offline, NOW_S + 5)
    assert isinstance(served, Serve)
    assert served.reuse.reason == "offline"
    assert on_request(request_for(), [], rule, offline, NOW_S) == Refuse(504, "offline")


def test_a_client_may_insist_on_the_origin_unless_the_rule_says_otherwise(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    fresh = copy_with(("ETag", '"1"'), expiry_s=NOW_S + 10)
    request = request_for(("Cache-Control", "no-cache"))
    ask = on_request(request, [fresh], rule, site, NOW_S)
    assert isinstance(ask, Ask)
    assert (ask.fwd, ask.detail) == (Fwd.REQUEST, "request-no-cache")
    assert isinstance(on_request(request, [fresh], replace(rule, honour_client_cc=False), site, NOW_S), Serve)


def test_what_other_modes_would_do_is_recorded(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(("ETag", '"1"'), ("Cache-Control", "max-age=100"), expiry_s=NOW_S + 10)
    served = on_request(request_for(), [copy], rule, site, NOW_S + 50)
    assert isinstance(served, Serve)
    assert served.shorten_would_validate
    long = copy_with(("ETag", '"1"'), ("Cache-Control", "max-age=10"), expiry_s=NOW_S + 100)
    ask = on_request(request_for(), [long], rule, site, NOW_S + 50)
    assert isinstance(ask, Ask)
    assert ask.override_would_serve
    assert isinstance(on_request(request_for(), [long], replace(rule, obey="override"), site, NOW_S + 50), Serve)


def test_the_history_is_asked_for_only_of_trusted_origins(
    request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    request = request_for(("Want-Update-History", "?1"))
    plain = on_request(request, [], rule, site, NOW_S)
    trusted = on_request(request_for(), [], replace(rule, trust_piggyback=True), site, NOW_S)
    assert isinstance(plain, Ask)
    assert isinstance(trusted, Ask)
    assert "want-update-history" not in plain.sent.fields
    assert trusted.sent.fields.get("want-update-history") == "?1"


def test_stale_while_revalidate_serves_and_asks_in_the_background(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(("ETag", '"1"'), ("Cache-Control", "max-age=1, stale-while-revalidate=60"))
    served = on_request(request_for(), [copy], rule, site, NOW_S + 5)
    assert isinstance(served, Serve)
    assert served.refresh is not None
    assert served.refresh.candidates == (copy,)


PART = (("Range", "bytes=5-"), ("If-Range", '"0"'))


def test_a_fresh_copy_answers_a_request_for_a_part(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    fresh = copy_with(("Cache-Control", "max-age=100"))
    for fields in (PART, (("Range", "items=1"),)):
        assert isinstance(on_request(request_for(*fields), [fresh], rule, site, NOW_S), Serve)


def test_without_a_copy_the_origin_is_asked_for_the_part(
    request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    ask = on_request(request_for(*PART, ("Accept-Encoding", "zstd")), [], rule, site, NOW_S)
    assert isinstance(ask, Ask)
    assert (ask.fwd, ask.bypass) == (Fwd.URI_MISS, False)
    assert ask.sent.fields.without({"via"}).raw == PART, "a 200 in return is keyed by the same Accept-Encoding"


def test_a_copy_that_can_be_confirmed_is_validated_as_a_whole(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(("ETag", '"1"'), expiry_s=NOW_S)
    for method in ("GET", "HEAD"):
        ask = on_request(request_for(*PART, ("If-None-Match", '"0"'), method=method), [copy], rule, site, NOW_S)
        assert isinstance(ask, Ask)
        assert ask.sent.fields.without({"via"}).raw == (("If-None-Match", '"1"'),)
        assert ask.request == request_for(("If-None-Match", '"0"'), method=method)


def test_a_copy_that_cannot_be_confirmed_leaves_it_at_the_part(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    ask = on_request(request_for(*PART), [copy_with(("Cache-Control", "max-age=0"))], rule, site, NOW_S)
    assert isinstance(ask, Ask)
    assert ask.sent.fields.without({"via"}).raw == PART


def test_in_the_background_the_whole_is_asked_for(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(("Cache-Control", "max-age=1, stale-while-revalidate=60"))
    served = on_request(request_for(*PART), [copy], rule, site, NOW_S + 5)
    assert isinstance(served, Serve)
    assert served.refresh is not None
    assert "range" not in served.refresh.sent.fields


def test_a_copy_is_asked_for_again_although_it_is_fresh(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    copy = copy_with(("ETag", '"a"'), ("Cache-Control", "max-age=600"))
    ask = ask_again(request_for(("User-Agent", "ours")), [copy], rule, site)
    assert ask is not None
    assert ask.sent.fields.get("if-none-match") == '"a"'
    assert ask.sent.fields.get("cache-control") is None
    assert (ask.chosen, ask.in_background, ask.detail) == (copy, True, "prefetch")


def test_nothing_is_asked_for_again_without_validator_or_copy_or_offline(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    plain, tagged = copy_with(("Cache-Control", "max-age=600")), copy_with(("ETag", '"a"'))
    assert ask_again(request_for(), [plain], rule, site) is None
    assert ask_again(request_for(), [], rule, site) is None
    assert ask_again(request_for(), [tagged], rule, replace(site, offline=True)) is None
    assert ask_again(request_for(), [], rule, replace(site, offline=True), watched=True) is None


def test_what_is_watched_is_asked_for_as_a_whole_without_a_copy_to_validate(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    for copies in ([], [copy_with(("Cache-Control", "max-age=600"))]):
        ask = ask_again(request_for(("User-Agent", "ours")), copies, rule, site, watched=True)
        assert ask is not None
        assert (ask.chosen, ask.candidates, ask.in_background, ask.fwd) == (None, (), True, Fwd.URI_MISS)
        assert "if-none-match" not in ask.sent.fields


def test_a_variant_is_keyed_by_what_its_origin_was_sent(request_for: MakeRequest, rule: DomainRule, site: Site) -> None:
    german = ("Accept-Language", "de")
    request = received(request_for(german, ("Connection", "keep-alive, Accept-Language"), ("Accept", "*/*")))
    ask = on_request(request, [], rule, site, NOW_S)
    assert isinstance(ask, Ask)
    assert "accept-language" not in ask.sent.fields
    plain = Head(200, Fields([("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]))
    relay = on_response(ask, plain, Times(NOW_S, NOW_S), rule, site)
    assert isinstance(relay, Relay)
    copy = completed(relay, BodyRef("in English", 10), complete=True)
    assert copy is not None
    assert choose([copy], request_for(german).fields, site.salt) is None
    assert choose([copy], request_for().fields, site.salt) is copy
    assert isinstance(on_request(received(request_for(german)), [copy], rule, site, NOW_S), Ask)
    assert isinstance(on_request(request, [copy], rule, site, NOW_S), Serve)


@pytest.mark.parametrize("named", [(), ("keep-alive",), ("Upgrade, TE, close",), ("X-Absent",), ("close", "TE")])
def test_a_request_of_which_nothing_goes_is_the_same_one(request_for: MakeRequest, named: tuple[str, ...]) -> None:
    request = request_for(*(("Connection", line) for line in named), ("Upgrade", "h2c"), ("Accept", "*/*"))
    assert received(request) is request


def test_what_connection_names_leads_past_nothing(request_for: MakeRequest, rule: DomainRule, site: Site) -> None:
    request = received(request_for(("Connection", "X-Host, If-Match"), ("X-Host", "a"), ("If-Match", "b")))
    ask = on_request(request, [], rule, site, NOW_S)
    assert isinstance(ask, Ask)
    assert not ask.bypass
    assert ask.sent.fields.raw == (("Via", "1.1 bestbefore-1"),)


def sent_as(method: str = "GET", *fields: tuple[str, str], path: str = "/", has_body: bool = False) -> Request:
    return Request(method, Target.of("http", "a.test", 80, path), Fields(fields), has_body=has_body)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (sent_as("GET", ("Content-Length", "52")), "length-without-content"),
        (sent_as("POST", ("Content-Length", "00001")), "length-without-content"),
        (sent_as("POST", ("Content-Length", "9" * 19), has_body=True), "malformed-request"),
        (sent_as("GET", ("Connection", "Content-Length")), "misused-connection"),
        (sent_as("POST", ("Transfer-Encoding", "gzip, chunked"), has_body=True), "malformed-request"),
        (sent_as("GET", ("Host", "a.test"), ("Host", "a.test")), "wrong-host"),
        (sent_as("GET", ("Host", "")), "wrong-host"),
        (sent_as("GET", ("Host", "a.test, b.test")), "wrong-host"),
        (sent_as("GET", ("Host", "a.test/")), "wrong-host"),
        (sent_as("GET", path="*"), "malformed-request"),
        (sent_as("G T"), "malformed-request"),
        (sent_as("head"), "malformed-request"),
        (sent_as("Connect"), "malformed-request"),
        (sent_as("GET", path="/ HTTP/1.1"), "malformed-request"),
        (sent_as("GET", ("X", "a\rb")), "malformed-request"),
        (sent_as("GET", ("Content-Length", "0"), ("Host", "a.test:80"), ("Connection", "keep-alive, X")), ""),
        (sent_as("POST", ("Content-Length", "5"), ("Host", "[::1]:80"), has_body=True), ""),
        (sent_as("POST", ("Content-Length", "9" * 18), has_body=True), ""),
        (sent_as("OPTIONS", path="*"), ""),
    ],
)
def test_a_request_that_could_be_read_otherwise_is_refused(request_: Request, why: str) -> None:
    assert misframed(request_) == why
