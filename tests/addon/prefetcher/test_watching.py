from dataclasses import replace

import pytest

from bestbefore.addon.prefetcher.eligibility import Refusal
from bestbefore.addon.prefetcher.watching import watched_fetch_of
from bestbefore.addon.proxy.access.reach import PUBLIC, Reach
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request

NOW_S = 1_706_300_000.0
URL = "http://example.org/feed"
LAN, LAN_URL = "192.168.0.0/16", "http://192.168.1.1/feed"
AGENT = "bestbefore/1 (test)"

COPY = Copy(URL, Head(200, Fields([("ETag", '"a"')])), BodyRef("d", 4), NOW_S, NOW_S, NOW_S, NOW_S)


def fetch(url: str, *copies: Copy, asked_from: tuple[str, ...] = ()) -> tuple[Request, Reach]:
    found = watched_fetch_of(url, copies, asked_from, AGENT)
    assert not isinstance(found, Refusal)
    return found


def test_without_a_copy_the_object_is_fetched_as_by_a_stranger() -> None:
    asked, reach = fetch(URL)
    assert (asked.method, asked.target.url, list(asked.fields.raw)) == ("GET", URL, [("User-Agent", AGENT)])
    assert reach == PUBLIC


@pytest.mark.parametrize("unusable", [{"personal": "x"}, {"client": "x"}, {"head": Head(404, Fields())}])
def test_copies_of_others_and_errors_do_not_keep_it_from_being_fetched(unusable: dict[str, object]) -> None:
    asked, reach = fetch(URL, replace(COPY, **unusable))  # type: ignore[arg-type]
    assert (list(asked.fields.raw), reach) == ([("User-Agent", AGENT)], PUBLIC)


def test_a_private_address_is_reached_if_the_url_has_it_or_a_client_asked_from_there() -> None:
    assert fetch(LAN_URL)[1] == Reach(frozenset((LAN,)))
    assert fetch(LAN_URL, replace(COPY, url=LAN_URL, range=LAN))[1] == Reach(frozenset((LAN,)))
    assert fetch(URL, asked_from=(LAN,))[1] == Reach(frozenset((LAN,)))
    inside = replace(COPY, range=LAN)
    assert watched_fetch_of(URL, (inside,), (), AGENT) == Refusal.PRIVATE_ADDRESS
    assert fetch(URL, inside, asked_from=(LAN,))[1] == Reach(frozenset((LAN,)))


def test_urls_that_look_like_secrets_or_deeds_are_refused_here_too() -> None:
    assert watched_fetch_of("http://example.org/feed?token=1", (), (), AGENT) == Refusal.SECRET
    assert watched_fetch_of("http://example.org/logout", (), (), AGENT) == Refusal.DEED
