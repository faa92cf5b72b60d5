"""When a delta is asked for, and which are taken."""

import gzip
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from bestbefore.addon.config.load import load_config
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.proxy.feeds.upstream_deltas import MOST_DELTAS, DeltaOffer, UpstreamDeltas
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.policies.units import DAY_S

URL = "http://example.org/feed"
RULE = load_config(None).rules.default


def rss(*items: str) -> bytes:
    listed = "".join(f"<item><guid>{item}</guid></item>" for item in items)
    return f'<rss version="2.0"><channel>{listed}</channel></rss>'.encode()


class Stored:
    """The content of the copy."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def of(self, _: Copy) -> bytes:
        return self.body


def copy(**fields: str) -> Copy:
    lines = {"ETag": '"1"'} | {name.replace("_", "-"): value for name, value in fields.items()}
    times: dict[str, Any] = dict.fromkeys(("request_time_s", "response_time_s", "stored_s", "current_s"), 0.0)
    return Copy(URL, Head(200, Fields(list(lines.items()))), BodyRef("x", 10), **times, is_feed=True)


def ask(of: Copy, **fields: str) -> Ask:
    target = Target.parse(URL)
    sent = {"If-None-Match": str(of.etag)} | {name.replace("_", "-"): value for name, value in fields.items()}
    request = Request("GET", target)
    return Ask(request, replace(request, fields=Fields(list(sent.items()))), Fwd.STALE, "", of, (of,))


def delta(body: bytes, **fields: str) -> Fetched:
    lines = {"IM": "feed", "ETag": '"2"', "Cache-Control": "no-store, im, max-age=60"}
    lines |= {name.replace("_", "-"): value for name, value in fields.items()}

    async def chunks() -> AsyncGenerator[bytes]:
        yield body

    return Fetched(Head(226, Fields(list(lines.items()))), 0.0, 0.0, chunks(), len(body))


def deltas(body: bytes = rss("b", "a")) -> UpstreamDeltas:
    return UpstreamDeltas(Stored(body))  # type: ignore[arg-type]


async def taken(known: UpstreamDeltas, fetched: Fetched, of: Copy | None = None) -> tuple[Head, bytes] | None:
    of = of or copy()
    whole = await known.taken(DeltaOffer(ask(of).sent, of), fetched)
    return None if whole is None else (whole.head, b"".join([chunk async for chunk in whole.chunks]))


def test_a_feed_is_asked_once_a_day_whether_its_origin_sends_deltas() -> None:
    known, one = deltas(), copy()
    offers = [known.offer(ask(one), RULE, t_s) is not None for t_s in (0.0, 60.0, DAY_S - 1, DAY_S)]
    assert offers == [True, False, False, True]
    offer = deltas().offer(ask(one), RULE, 0.0)
    assert offer is not None
    assert (offer.request.fields.get("a-im"), offer.copy) == ("feed", one)


def test_where_it_says_so_it_is_asked_each_time() -> None:
    known, one = deltas(), copy(Vary="Accept-Encoding, a-im")
    assert all(known.offer(ask(one), RULE, t_s) for t_s in (0.0, 60.0, 120.0))


@pytest.mark.parametrize("unfit", [
    ask(copy(), Range="bytes=0-1"), ask(copy(), If_None_Match='"1", "2"'), replace(ask(copy()), bypass=True),
    ask(replace(copy(), is_feed=False)), ask(replace(copy(), client="c")), ask(replace(copy(), personal="p")),
    ask(replace(copy(), own_etag='"own"')), ask(copy(Cache_Control="no-transform")),
    replace(ask(copy()), chosen=None), ask(replace(copy(), body=BodyRef("x", 1 << 30))),
])  # fmt: skip
def test_nothing_is_asked_where_the_base_is_not_certain_or_not_for_all(unfit: Ask) -> None:
    assert deltas().offer(unfit, RULE, 0.0) is None
    assert deltas().offer(ask(copy()), replace(RULE, feed_delta=False), 0.0) is None


async def test_a_delta_becomes_the_whole_document_with_a_weak_tag() -> None:
    known = deltas()
    found = await taken(known, delta(rss("c"), Delta_Base='"1"'))
    assert found is not None
    head, body = found
    assert (head.status, body.count(b"<item>")) == (200, 2)
    assert (head.fields.get("etag"), head.fields.get("cache-control")) == ('W/"2"', "max-age=60")
    assert head.fields.get("content-length") == str(len(body))
    assert "im" not in head.fields
    assert known.offer(ask(copy()), RULE, 1.0), "this origin sends them"


async def test_content_codings_of_both_are_undone_and_that_of_the_base_kept() -> None:
    known, base = deltas(gzip.compress(rss("b", "a"))), copy(Content_Encoding="gzip")
    found = await taken(known, delta(gzip.compress(rss("c")), Content_Encoding="gzip"), base)
    assert found is not None
    assert found[0].fields.get("content-encoding") == "gzip"
    assert gzip.decompress(found[1]).count(b"<item>") == 2
    found = await taken(deltas(), delta(gzip.compress(rss("c")), Content_Encoding="gzip"))
    assert found is not None
    assert "content-encoding" not in found[0].fields


@pytest.mark.parametrize("broken", [
    delta(rss("c"), Delta_Base='"0"'), delta(rss("c"), ETag='"1"'), delta(rss("c"), ETag="none"),
    delta(rss("c"), IM="vcdiff"), delta(rss("c"), IM="feed, gzip"), delta(rss()), delta(b"<html/>"),
    delta(rss("c"), Content_Encoding="gzip"), delta(rss("c")[:-5]),
])  # fmt: skip
async def test_any_other_delta_is_fetched_as_a_whole(broken: Fetched) -> None:
    known = deltas()
    assert await taken(known, broken) is None
    assert known.offer(ask(copy()), RULE, 1.0) is None


async def test_after_many_deltas_the_whole_is_fetched_once() -> None:
    known, one, offers = deltas(), copy(), []
    for n in range(MOST_DELTAS + 2):
        offer = known.offer(ask(one), RULE, float(n))
        offers.append(offer is not None)
        if offer is not None:
            await known.taken(offer, delta(rss("c")))
    assert offers == [*[True] * MOST_DELTAS, False, True]


async def test_a_304_or_200_passes() -> None:
    for status in (200, 304, 500):
        fetched = replace(delta(b"x"), head=Head(status, Fields()))
        assert await deltas().taken(DeltaOffer(ask(copy()).sent, copy()), fetched) is fetched
