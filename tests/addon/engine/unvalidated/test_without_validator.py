"""Whether a response without validator is stored, by what was learnt of its object."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bestbefore.addon.engine.learning import Record, observe
from bestbefore.addon.engine.request import Ask, on_request
from bestbefore.addon.engine.response import Relay, Times, observed, on_response
from bestbefore.addon.engine.site import Site
from bestbefore.addon.engine.unvalidated.evidence import UNSHARED_S, Delivery
from bestbefore.addon.engine.unvalidated.without_validator import Learnt, delivery_of, learnt_of, prospect, stored_as
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import DomainRule

NOW_S = 1_706_300_000.0
LIFETIME_S = 60.0
MakeRequest = Callable[..., Request]


def relayed(request: Request, rule: DomainRule, site: Site, *fields: tuple[str, str], t_s: float = NOW_S) -> Relay:
    ask = on_request(request, [], rule, site, t_s)
    assert isinstance(ask, Ask)
    head = Head(200, Fields((("Date", format_http_date(t_s)), *fields)))
    relay = on_response(ask, head, Times(t_s, t_s), rule, site)
    assert isinstance(relay, Relay)
    return relay


class Object:
    """An object whose responses have no validator, and what is learnt of it."""

    def __init__(self, request: Request, rule: DomainRule, site: Site, *fields: tuple[str, str]) -> None:
        self.request, self.rule, self.site, self.fields = request, rule, site, fields
        self.record: Record | None = None

    def sent(self, after_s: float, client: str, body: str = "x", request: Request | None = None) -> Learnt:
        """What follows from a response with this content, sent to a client."""
        asked, t_s = request or self.request, NOW_S + after_s
        relay = relayed(asked, self.rule, self.site, *self.fields, t_s=t_s)
        delivery = delivery_of(asked, relay, self.rule, client)
        assert delivery is not None
        assert relay.draft is not None
        delivery = replace(delivery, lifetime_s=LIFETIME_S)
        self.prospect = prospect(relay, relay.draft, delivery, self.record)
        seen = observed(asked, relay.draft, body, self.rule, None, delivery=delivery)
        self.record = observe(self.record, seen).record
        return learnt_of(self.record, relay.draft, LIFETIME_S)


@pytest.fixture
def page(request_for: MakeRequest, rule: DomainRule, site: Site) -> Object:
    return Object(request_for(), rule, site, ("Content-Type", "text/html"))


@pytest.fixture
def package(request_for: MakeRequest, rule: DomainRule, site: Site) -> Object:
    return Object(request_for(), rule, site, ("Content-Type", "application/gzip"))


def test_a_static_file_is_stored_at_the_second_contact_with_the_same_content(package: Object) -> None:
    assert package.sent(0, "a") is Learnt.LEARNING
    assert not package.prospect.collects
    assert package.sent(1, "b") is Learnt.FOR_ALL
    assert package.prospect.collects


def test_a_static_file_that_changed_is_not(package: Object) -> None:
    package.sent(0, "a", "x")
    assert package.sent(100, "b", "y") is Learnt.LEARNING
    assert package.sent(101, "b", "y") is Learnt.FOR_ALL


def test_a_page_answers_its_own_client_once_it_has_stayed_the_same_for_its_lifetime(page: Object) -> None:
    told = [page.sent(t_s, "a") for t_s in (0, 10, 20, 61, 70)]
    assert told == [Learnt.LEARNING, Learnt.LEARNING, Learnt.LEARNING, Learnt.FOR_CLIENT, Learnt.FOR_CLIENT]


def test_a_page_is_shared_after_three_clients_without_credentials(page: Object, request_for: MakeRequest) -> None:
    page.sent(0, "a")
    page.sent(10, "b")
    assert page.sent(70, "b") is Learnt.FOR_CLIENT
    assert page.sent(80, "with a cookie", request=request_for(("Cookie", "a=1"))) is Learnt.COOKIE
    assert page.sent(90, "a") is Learnt.FOR_CLIENT
    assert page.sent(100, "c") is Learnt.FOR_ALL
    assert page.sent(110, "a") is Learnt.FOR_ALL


def test_one_difference_between_clients_ends_sharing_for_a_day(page: Object) -> None:
    for t_s, client in enumerate("abcabc"):
        page.sent(20 * t_s, client)
    assert page.sent(120, "d", "other") is Learnt.LEARNING
    assert page.record is not None
    assert page.record.differed_s == NOW_S + 120
    assert [page.sent(130 + 30 * n, "abc"[n % 3], "other") for n in range(6)][-1] is Learnt.FOR_CLIENT
    assert page.sent(120 + UNSHARED_S - 1, "a", "other") is Learnt.FOR_CLIENT
    assert page.sent(120 + UNSHARED_S, "a", "other") is Learnt.FOR_ALL


def test_a_static_file_that_differs_between_clients_is_only_for_its_client(package: Object) -> None:
    package.sent(0, "a", "x")
    package.sent(1, "b", "y")
    assert [package.sent(2 + 30 * n, "b", "y") for n in range(4)][-1] is Learnt.FOR_CLIENT


def test_a_page_that_changes_often_is_not_stored(page: Object) -> None:
    told = [page.sent(30 * n, "a", f"{n // 3}") for n in range(20)]
    assert Learnt.FOR_ALL not in told
    told = [page.sent(1000 + n, "a", f"{n}") for n in range(20)]
    assert told[-1] is Learnt.CHANGES


@pytest.mark.parametrize(
    ("fields", "learns", "told"),
    [
        ((("Cache-Control", "max-age=0"),), "learn", Learnt.FORBIDDEN),
        ((("Cache-Control", "no-cache"),), "learn", Learnt.FORBIDDEN),
        ((), "never", Learnt.OFF),
    ],
)
def test_some_responses_are_never_stored_whatever_is_learnt(
    fields: tuple[tuple[str, str], ...],
    learns: Any,
    told: Learnt,
    request_for: MakeRequest,
    rule: DomainRule,
    site: Site,
) -> None:
    seen = Object(request_for(), replace(rule, learn_without_validator=learns), site, *fields)
    assert {seen.sent(100 * n, "abcd"[n % 4]) for n in range(12)} == {told}
    assert (seen.prospect.detail, seen.prospect.collects) == (told, False)


@pytest.mark.parametrize("fields", [(("ETag", '"1"'),), (("Cache-Control", "max-age=60"),), (("Set-Cookie", "a=1"),)])
def test_other_responses_are_no_evidence(
    fields: tuple[tuple[str, str], ...], request_for: MakeRequest, rule: DomainRule, site: Site
) -> None:
    assert delivery_of(request_for(), relayed(request_for(), rule, site, *fields), rule, "a") is None


def test_a_copy_for_all_is_bound_to_no_client(copy_with: Callable[..., Copy]) -> None:
    kept = [stored_as(copy_with(), told, "a") for told in (Learnt.FOR_ALL, Learnt.FOR_CLIENT)]
    assert [(copy.learned, copy.client) for copy in kept] == [(True, ""), (True, "a")]


def test_evidence_ends_when_the_origin_sends_a_validator(page: Object) -> None:
    page.sent(0, "a")
    assert page.record is not None
    draft = replace(page.prospect.draft, current_s=NOW_S + 10) if page.prospect.draft else None
    assert draft is not None
    record = observe(page.record, observed(page.request, draft, "x", page.rule, None)).record
    assert record.seen[""].evidence is None
    assert learnt_of(record, draft, LIFETIME_S) is Learnt.LEARNING


def test_a_delivery_of_a_background_fetch_is_bound_to_nobody(page: Object) -> None:
    assert Delivery("", True, False).client == ""
    assert [page.sent(40 * n, "") for n in range(5)][-1] is Learnt.LEARNING
