"""Feeds through a real proxy: what it learns of their postings, and what a feed reader gets."""

import gzip
import json
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.request import ProxyHandler

import brotli
import feedparser
import pytest

pytestmark = pytest.mark.live

Start = Callable[..., Any]
HOUR = 3600.0
MIB = 1 << 20


def item(name: str, time_s: float | None = None, words: str = "words") -> str:
    """One item of an RSS feed."""
    posted = "" if time_s is None else f"<pubDate>{formatdate(time_s)}</pubDate>"
    return f"<item><guid isPermaLink='false'>{name}</guid><title>{words}</title>{posted}</item>"


def rss(*items: str, channel: str = "") -> bytes:
    text = f"<channel><title>t</title>{channel}{''.join(items)}</channel>"
    return f'<?xml version="1.0"?><rss version="2.0">{text}</rss>'.encode()


# Without the time in it, which would be another content each second.
CODINGS = {"": bytes, "gzip": partial(gzip.compress, mtime=0), "br": brotli.compress}


@dataclass
class FeedOrigin:
    """Serves whatever `body` is now, with an ETag of its bytes if `validates`."""

    body: bytes = b""
    coding: str = ""
    validates: bool = True
    status: int = 200
    fields: dict[str, str] = field(default_factory=dict)
    url: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The fields of each request, names in lower case."""
    repeats: int = 0
    """How many MiB of padding follow `body`; -1: without end."""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append({name.lower(): value for name, value in handler.headers.items()})
        content = CODINGS[self.coding](self.body)
        etag = f'"{hash(content):x}"'
        current = self.validates and handler.headers.get("If-None-Match") == etag
        handler.send_response_only(304 if current else self.status)
        fields = {"Content-Type": "application/xml", **self.fields}
        if self.validates:
            fields["ETag"] = etag
        if self.coding:
            fields["Content-Encoding"] = self.coding
        if self.repeats:
            fields["Connection"] = "close"
        elif not current:
            fields["Content-Length"] = str(len(content))
        for name, value in fields.items():
            handler.send_header(name, value)
        handler.end_headers()
        if not current:
            handler.wfile.write(content)
        while self.repeats:
            self.repeats -= 1
            try:
                handler.wfile.write(b" " * MIB)
            except OSError:
                self.repeats = 0


@pytest.fixture
def feed(start_origin: Start) -> Any:
    """An origin of one feed, at `url`."""
    origin = start_origin({})
    served = FeedOrigin()
    origin.answer = served.answer
    served.url = f"{origin.url}/feed"
    return served


@pytest.fixture
def shown(bestbefore: Start) -> Callable[[Any, str], dict[str, Any]]:
    """Tells what `bestbefore show` says was observed of an object."""

    def ask(proxy: Any, url: str) -> dict[str, Any]:
        proxy.has_written()
        observed: dict[str, Any] = json.loads(bestbefore("show", "--json", "--state", proxy.state, url))["observed"]
        return observed

    return ask


def test_items_that_came_and_went_between_two_contacts_may_have_been_missed(
    shared_proxy: Any, feed: Any, shown: Start
) -> None:
    now_s = float(int(time.time()))
    for newest_s, missed in ((now_s - 20 * HOUR, 0), (now_s - 19 * HOUR, 0), (now_s, 1)):
        feed.body = rss(*(item(f"at {newest_s - n * HOUR}", newest_s - n * HOUR) for n in range(3)))
        assert shared_proxy.get(feed.url, {"Cache-Control": "no-cache"}).status == 200
        time.sleep(0.01)
        assert len(shown(shared_proxy, feed.url)["feed"]["missed"]) == missed


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_postings_are_learnt_at_their_times(shared_proxy: Any, feed: Any, coding: str, shown: Start) -> None:
    now_s = float(int(time.time()))
    old = [item(f"{n}", now_s - n * HOUR) for n in range(1, 4)]
    accepted = {"Accept-Encoding": "gzip, br"}
    feed.coding, feed.body = coding, rss(*old)
    shared_proxy.get(feed.url, accepted)
    feed.body = rss(item("no time"), item("edited", now_s - 30 * HOUR), *old).replace(b">words<", b">other words<", 1)
    time.sleep(0.01)
    got = shared_proxy.get(feed.url, accepted | {"Cache-Control": "no-cache"})
    assert got.body == CODINGS[coding](feed.body)  # passed on as it came
    observed = shown(shared_proxy, feed.url)
    times = [(update["after_s"], update["by_s"]) for update in observed["last_updates"]]
    assert [by_s for after_s, by_s in times if after_s == by_s] == [now_s - n * HOUR for n in (3, 2, 1)]
    assert len(times) == 5
    assert observed["since_s"] == now_s - 3 * HOUR
    assert observed["feed"]["items"] == 5


def test_a_feed_of_100_mb_is_passed_on_and_not_read(shared_proxy: Any, feed: Any, shown: Start) -> None:
    feed.body, feed.repeats = rss(item("a", 1e9)), 100
    assert len(shared_proxy.get(feed.url).body) == len(feed.body) + 100 * MIB
    assert shown(shared_proxy, feed.url)["feed"] is None


@pytest.mark.parametrize("validates", [True, False])  # without, it would be awaited whole
def test_an_endless_answer_delays_no_other_and_ends_with_its_reader(
    shared_proxy: Any, feed: Any, validates: bool
) -> None:
    feed.validates, feed.body, feed.repeats = validates, rss(item("a", 1e9)), -1
    with socket.create_connection(("127.0.0.1", shared_proxy.port), timeout=60) as reader:
        reader.sendall(f"GET {feed.url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        received = 0
        while received < 20 * MIB and (chunk := reader.recv(MIB)):
            received += len(chunk)
        assert received >= 20 * MIB
    end_s = time.monotonic() + 30
    while feed.repeats and time.monotonic() < end_s:
        time.sleep(0.01)
    assert feed.repeats == 0


class Reader:
    """feedparser behind the proxy, as a reader that remembers the entity tag."""

    def __init__(self, proxy: Any) -> None:
        self._handler = ProxyHandler({"http": f"http://127.0.0.1:{proxy.port}"})
        self.etag: str | None = None

    def read(self, url: str) -> tuple[int, list[str]]:
        """The status, and the items."""
        found = feedparser.parse(url, etag=self.etag, handlers=[self._handler])
        self.etag = found.get("etag", self.etag)
        return found.status, [entry.id for entry in found.entries]


@pytest.mark.parametrize("validates", [True, False])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_reader_gets_only_what_is_new(shared_proxy: Any, feed: Any, validates: bool, coding: str) -> None:
    feed.validates, feed.coding = validates, coding
    old = [item(f"{n}") for n in range(20)]
    feed.body = rss(*old, channel="<lastBuildDate>1</lastBuildDate>")
    reader, late_one = Reader(shared_proxy), Reader(shared_proxy)
    assert reader.read(feed.url) == (200, [f"{n}" for n in range(20)])
    late_one.read(feed.url)
    assert reader.read(feed.url) == (304, [])
    time.sleep(0.01)
    feed.body = rss(item("new"), *old, channel="<lastBuildDate>2</lastBuildDate>")
    insisting = {"Cache-Control": "no-cache", "Accept-Encoding": "gzip"}
    shared_proxy.get(feed.url, insisting)  # else a copy may be fresh still
    assert reader.read(feed.url) == (226, ["new"])
    assert reader.read(feed.url) == (304, [])
    time.sleep(0.01)
    feed.body = rss(item("newer"), item("new"), *old[:5], item("5", words="edited"), *old[6:])
    shared_proxy.get(feed.url, insisting)
    assert reader.read(feed.url) == (226, ["newer", "5"])
    assert late_one.read(feed.url) == (226, ["newer", "new", "5"])
    assert all("bestbefore-" not in asked.get("if-none-match", "") for asked in feed.asked)
    assert sum("a-im" in asked for asked in feed.asked) <= 1, "the proxy's own, once a day"


def test_without_a_validator_only_what_is_said_makes_a_new_tag(shared_proxy: Any, feed: Any) -> None:
    feed.validates = False
    feed.body = rss(item("a"), channel="<lastBuildDate>1</lastBuildDate>")
    first = shared_proxy.get(feed.url)
    assert first.fields["etag"].startswith('W/"bestbefore-')
    feed.body = rss(item("a"), channel="<lastBuildDate>2</lastBuildDate>")
    again = shared_proxy.get(feed.url, {"If-None-Match": first.fields["etag"]})
    assert (again.status, again.body, again.fields["etag"]) == (304, b"", first.fields["etag"])
    feed.body = rss(item("b"), item("a"))
    assert shared_proxy.get(feed.url, {"If-None-Match": first.fields["etag"]}).status == 200
    feed.fields = {"Cache-Control": "no-transform"}
    assert "etag" not in shared_proxy.get(feed.url).fields


def test_a_stored_feed_without_a_validator_has_its_tag_at_each_hit(shared_proxy: Any, feed: Any) -> None:
    feed.validates, feed.fields, feed.body = False, {"Cache-Control": "max-age=600"}, rss(item("a"))
    first = shared_proxy.get(feed.url)
    hit = shared_proxy.get(feed.url)
    assert hit.is_hit
    assert hit.fields["etag"] == first.fields["etag"]
    assert shared_proxy.get(feed.url, {"If-None-Match": first.fields["etag"]}).status == 304
    assert len(feed.asked) == 1


@pytest.mark.parametrize("status", [301, 308, 410])
def test_what_a_feed_says_for_good_is_remembered(shared_proxy: Any, feed: Any, status: int) -> None:
    feed.body = rss(item("a"))
    shared_proxy.get(feed.url)
    feed.validates, feed.status, feed.body = False, status, b"gone"
    feed.fields = {"Content-Type": "text/plain"} | ({"Location": "http://x/moved"} if status != 410 else {})
    first = shared_proxy.get(feed.url, {"Cache-Control": "no-cache"})
    again = shared_proxy.get(feed.url)
    assert (first.status, again.status, again.is_hit) == (status, status, True)
    assert "detail=permanent" in again.cache_status
    assert len(feed.asked) == 2


def test_a_feed_that_turns_into_html_has_posted_nothing(shared_proxy: Any, feed: Any, shown: Start) -> None:
    feed.validates, feed.body = False, rss(item("a"))
    shared_proxy.get(feed.url)
    feed.body = b"<!DOCTYPE html><html><body>sold</body></html>"
    time.sleep(0.01)
    assert "etag" not in shared_proxy.get(feed.url).fields
    observed = shown(shared_proxy, feed.url)
    assert (observed["updates"], observed["feed"]["away"]) == (0, True)


def test_what_readers_were_spared_is_counted(shared_proxy: Any, feed: Any) -> None:
    feed.validates, feed.body = False, rss(*(item(f"{n}") for n in range(20)))
    reader = Reader(shared_proxy)
    names = [f'bestbefore_feed_saved_bytes_total{{sent="{got}"}}' for got in ("not-modified", "delta")]
    reader.read(feed.url)
    reader.read(feed.url)
    feed.body = rss(*(item(f"{n}") for n in range(21)))
    before = [shared_proxy.metric(name) for name in names]
    reader.read(feed.url)
    reader.read(feed.url)
    after = [shared_proxy.metric(name) for name in names]
    assert after[0] - before[0] == len(feed.body)
    assert 0.5 * len(feed.body) < after[1] - before[1] < len(feed.body)
