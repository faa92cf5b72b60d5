"""Feeds through a real proxy: what it learns of their postings, and what a feed reader gets."""

import gzip
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import brotli
import pytest

pytestmark = pytest.mark.live

Start = Callable[..., Any]
HOUR = 3600.0
MIB = 1 << 20


def item(name: str, time_s: float | None = None, words: str = "words") -> str:
    """One item of an RSS feed."""
    posted = "" if time_s is None else f"<pubDate>{formatdate(time_s)}</pubDate>"
    return f"<item><guid>{name}</guid><title>{words}</title>{posted}</item>"


def rss(*items: str, channel: str = "") -> bytes:
    text = f"<channel><title>t</title>{channel}{''.join(items)}</channel>"
    return f'<?xml version="1.0"?><rss version="2.0">{text}</rss>'.encode()


CODINGS = {"": bytes, "gzip": gzip.compress, "br": brotli.compress}


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


def shown(proxy: Any, url: str) -> dict[str, Any]:
    """What `bestbefore show` says was observed of it."""
    command = [Path(sys.executable).parent / "bestbefore", "show", "--json", "--state", proxy.state, url]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    observed: dict[str, Any] = report["observed"]
    return observed


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_postings_are_learnt_at_their_times(shared_proxy: Any, feed: Any, coding: str) -> None:
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


def test_a_feed_of_100_mb_is_passed_on_and_not_read(shared_proxy: Any, feed: Any) -> None:
    feed.body, feed.repeats = rss(item("a", 1e9)), 100
    assert len(shared_proxy.get(feed.url).body) == len(feed.body) + 100 * MIB
    assert shown(shared_proxy, feed.url)["feed"] is None


def test_an_answer_without_end_holds_up_nobody_and_is_left_when_its_reader_leaves(shared_proxy: Any, feed: Any) -> None:
    feed.body, feed.repeats = rss(item("a", 1e9)), -1
    with socket.create_connection(("127.0.0.1", shared_proxy.port), timeout=30) as reader:
        reader.sendall(f"GET {feed.url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        received = 0
        while received < 20 * MIB:
            received += len(reader.recv(MIB))
    end_s = time.monotonic() + 30
    while feed.repeats and time.monotonic() < end_s:
        time.sleep(0.01)
    assert feed.repeats == 0
