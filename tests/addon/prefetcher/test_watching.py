import math
from dataclasses import replace

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.prefetcher.eligibility import Refusal
from bestbefore.addon.prefetcher.watching import KEPT_S, MOST_OF_HOST, Watched, watched_fetch_of
from bestbefore.addon.proxy.access.reach import PUBLIC, Reach
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.policies.units import DAY_S
from tests.addon.store.memory_backend import open_memory_store

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


HOST = "example.org"
MAPS = tuple(f"http://{HOST}/map{i}.xml" for i in range(MOST_OF_HOST + 3))


def test_sitemaps_are_watched_while_other_objects_of_their_host_are_fetched() -> None:
    watched = Watched({"http://other.org/"})
    watched.named(HOST, ("http://other.org/map.xml", "no url", f"http://{HOST}/logout", *MAPS[:1]), (LAN,), NOW_S)
    assert list(watched) == ["http://other.org/", MAPS[0]]
    assert (MAPS[0] in watched, watched.asked_from(MAPS[0]), watched.longest_s(MAPS[0])) == (True, (LAN,), DAY_S)
    assert (watched.asked_from(URL), watched.longest_s(URL)) == ((), math.inf)
    watched.between_polls_s = lambda _: DAY_S
    assert [watched.least_s(url) for url in (MAPS[0], URL, "http://other.org/")] == [DAY_S, 0.0, 0.0]
    assert "http://other.org/" in watched
    assert not watched.is_sitemap("http://other.org/")
    assert watched.indexed(MAPS[1], MAPS) == (), "robots.txt does not name it"
    assert watched.indexed(MAPS[0], MAPS) == MAPS[1:MOST_OF_HOST]
    assert len(watched) == 1 + MOST_OF_HOST
    assert watched.indexed(MAPS[0], MAPS[:2]) == ()
    assert len(watched) == 3
    watched.named(HOST, (), (), NOW_S)
    assert list(watched) == ["http://other.org/"], "they are not named any more"


async def test_sitemaps_are_shared_through_the_store_and_end_with_the_demand() -> None:
    store = await open_memory_store(clock=ManualClock(NOW_S))
    here, there = Watched(()), Watched(())
    here.named(HOST, MAPS[:1], (), NOW_S)
    await here.exchange(store.positions, NOW_S)
    await there.exchange(store.positions, NOW_S)
    assert list(there) == [MAPS[0]]
    here.wanted(MAPS[0], NOW_S + DAY_S)  # it is a sitemap itself
    there.wanted(URL, NOW_S + DAY_S)
    for one, left in ((here, 0), (there, 1)):
        await one.exchange(store.positions, NOW_S + KEPT_S)
        assert len(one) == left
    await store.close()
