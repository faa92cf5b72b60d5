"""What origins say of their changes, through real processes: sitemaps, pushes of a hub, and deltas of feeds."""

import gzip
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode
from urllib.request import Request, urlopen

import pytest

pytestmark = pytest.mark.live


@dataclass
class Pages:
    """An origin whose pages are set by the test."""

    url: str
    pages: dict[str, tuple[dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    deltas: dict[str, tuple[dict[str, str], bytes]] = field(default_factory=dict)
    """By path: what is sent to those who accept a delta of a feed."""
    posted: list[dict[str, str]] = field(default_factory=list)

    def put(self, path: str, body: str, **fields: str) -> None:
        named = {name.replace("_", "-"): value for name, value in fields.items()}
        self.pages[path] = {"ETag": f'"{hash(body)}"', **named}, body.encode()


@pytest.fixture
def pages() -> Iterator[Pages]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            origin.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            fields, body = origin.pages.get(self.path, ({}, b""))
            asked_tag = self.headers.get("If-None-Match", "").removeprefix("W/")
            same = bool(asked_tag) and fields.get("ETag") == asked_tag
            status = 304 if same else 200 if self.path in origin.pages else 404
            if "A-IM" in self.headers and not same and self.path in origin.deltas:
                status, (fields, body) = 226, origin.deltas[self.path]
            self.send_response(status)
            body = b"" if same else body
            fields = {name: value for name, value in fields.items() if value}
            for name, value in {**fields, "Content-Length": str(len(body)), "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            origin.posted.append({name: values[0] for name, values in parse_qs(body).items()})
            self.send_response(202 if self.path == "/hub" else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    origin = Pages(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield origin
    server.shutdown()
    thread.join()
    server.server_close()


def rss(*items: str) -> str:
    listed = "".join(f"<item><guid>{item}</guid></item>" for item in items)
    return f'<rss version="2.0"><channel><title>t</title>{listed}</channel></rss>'


def test_a_delta_of_a_feed_is_joined_and_a_broken_one_fetched_again(shared_proxy: Any, pages: Pages) -> None:
    kind = {"Content_Type": "application/rss+xml"}
    pages.put("/feed", rss("b", "a"), ETag='"1"', **kind)
    url, again = pages.url + "/feed", {"Cache-Control": "no-cache"}
    assert shared_proxy.get(url).body == rss("b", "a").encode()
    told = {"IM": "feed", "Delta-Base": '"1"', "ETag": '"2"', "Cache-Control": "no-store, im", "Vary": "A-IM"}
    pages.put("/feed", rss("c", "b"), ETag='"2"', **kind)
    pages.deltas["/feed"] = {**told, "Content-Type": kind["Content_Type"]}, rss("c").encode()
    got = shared_proxy.get(url, again)
    assert (got.status, got.body.count(b"<item>"), got.fields["etag"]) == (200, 2, 'W/"2"')
    assert b"<guid>c</guid></item>\n<item><guid>b</guid>" in got.body
    assert "im" not in got.fields
    assert shared_proxy.get(url).body == got.body
    pages.put("/feed", rss("d", "c"), ETag='"3"', **kind)
    pages.deltas["/feed"] = {**told, "Delta-Base": '"1"', "ETag": '"3"'}, rss("d").encode()
    assert shared_proxy.get(url, again).body == rss("d", "c").encode(), "the delta has another base"
    offered = [fields.get("a-im", "") for path, fields in pages.asked if path == "/feed"]
    assert (offered[0], set(offered[1:-1]), offered[-1]) == ("", {"feed"}, "")


def wait_for(done: Callable[[], bool], patience_s: float = 60.0) -> None:
    end = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_page_is_validated_once_its_sitemap_says_that_it_has_changed(
    shared_proxy: Any, pages: Pages
) -> None:
    def signals(result: str) -> float:
        name = f'bestbefore_signals_total{{kind="sitemap",result="{result}"}}'
        return shared_proxy.metric(name) if name in shared_proxy.metrics() else 0.0

    def list_pages(changed_ago_s: dict[str, float]) -> None:
        entries = ""
        for path, ago_s in changed_ago_s.items():
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago_s))
            entries += f"<url><loc>{pages.url}{path}</loc><lastmod>{at}</lastmod></url>"
        pages.put("/sitemap.xml", f"<urlset>{entries}</urlset>", Content_Type="application/xml", ETag="")
        shared_proxy.get(pages.url + "/sitemap.xml", {"Cache-Control": "no-cache"})

    a, b = pages.url + "/a", pages.url + "/b"
    for path in ("/a", "/b"):  # as they were ten minutes ago
        pages.put(path, "1", Last_Modified="Sun, 01 Nov 2026 00:00:00 GMT", Age="600")
        assert [shared_proxy.get(pages.url + path).is_hit for _ in range(2)] == [False, True]
    list_pages({"/a": 3600, "/b": 3600})
    assert shared_proxy.get(a).is_hit, "the sitemap says nothing new"
    pages.put("/a", "2", Last_Modified=time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() - 60)))
    list_pages({"/a": 60, "/b": 3600})
    wait_for(lambda: signals("believed") == 1.0)
    got = shared_proxy.get(a)
    assert (got.body, "fwd=stale; fwd-status=200" in got.cache_status) == (b"2", True)
    assert "detail=signal" in got.cache_status
    assert shared_proxy.get(b).is_hit
    assert signals("right") == 1.0
    assert [path for path, _ in pages.asked].count("/b") == 1


def test_the_sitemaps_that_a_robots_txt_names_are_fetched_and_tell_of_changes(
    start_proxy: Any, pages: Pages, tmp_path: Path
) -> None:
    def listing(kind: str, entry: str, *paths: str) -> bytes:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        listed = "".join(f"<{entry}><loc>{pages.url}{path}</loc><lastmod>{at}</lastmod></{entry}>" for path in paths)
        return gzip.compress(f"<{kind}>{listed}</{kind}>".encode(), mtime=0)

    pages.put("/robots.txt", f"User-agent: *\nDisallow: /no\nSitemap: {pages.url}/index.xml.gz\n")
    pages.pages["/index.xml.gz"] = {}, listing("sitemapindex", "sitemap", "/map.xml.gz", "/no.xml")
    pages.pages["/map.xml.gz"] = {}, listing("urlset", "url", "/page")
    pages.put("/page", "1", Age="600")  # as it was ten minutes ago
    config = tmp_path / "proxy.toml"
    policy = '[default]\npolicy = "fixed"\ninterval = "2h"\n'
    config.write_text(policy + "[prefetch]\n")
    proxy = start_proxy("--config", str(config))
    proxy.get(pages.url + "/page")
    config.write_text(
        policy + "[prefetch]\nenabled = true\nsitemaps = true\nper_host_interval = 0\n"
        f'watch = ["{pages.url}/watched"]\n'  # fetched at once, so that robots.txt is read
    )
    believed = 'bestbefore_signals_total{kind="sitemap",result="believed"}'
    wait_for(lambda: believed in proxy.metrics(), 90.0)  # a minute later if an answer of the store came too late
    page = proxy.get(pages.url + "/page")
    assert "detail=signal" in page.cache_status, "by its policy the copy is fresh"
    asked = [path for path, _ in pages.asked]
    assert asked.count("/robots.txt") == 1
    assert [asked.count(path) for path in ("/index.xml.gz", "/map.xml.gz", "/no.xml")] == [1, 1, 0]


def say(url: str, query: dict[str, str], content: bytes | None = None, **fields: str) -> tuple[int, bytes]:
    """What a subscriber answers to its hub."""
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    request = Request(f"{url}?{urlencode(query)}" if query else url, content, headers)
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except OSError as error:
        return getattr(error, "code", 0), b""


def test_a_push_of_a_hub_is_an_update_and_a_changed_one_is_not(
    start_proxy: Any, pages: Pages, tmp_path: Path, free_port: Callable[[], int], bestbefore: Callable[..., str]
) -> None:
    """The second hub does as the W3C Recommendation says: it verifies, pushes with a signature, and may deny."""
    feed, port = pages.url + "/feed", free_port()
    links = f'<{pages.url}/out-of-order>; rel="hub", <{pages.url}/hub>; rel="hub", <{feed}>; rel="self"'
    pages.put("/feed", "1", Link=links)
    config = tmp_path / "proxy.toml"
    config.write_text(f'[websub]\nlisten = "127.0.0.1:{port}"\ncallback_url = "http://127.0.0.1:{port}/cb/"\n')
    proxy = start_proxy("--config", str(config), state=tmp_path / "state")
    assert [proxy.get(feed).is_hit for _ in range(3)] == [False, True, True]
    wait_for(lambda: len(pages.posted) == 2)
    refused, asked = pages.posted
    assert asked["hub.secret"] != refused["hub.secret"]
    callback, secret = asked["hub.callback"], asked["hub.secret"]
    assert (asked["hub.mode"], asked["hub.topic"]) == ("subscribe", feed)
    intent = {"hub.mode": "subscribe", "hub.topic": feed, "hub.challenge": "c1", "hub.lease_seconds": "86400"}
    assert say(callback, intent | {"hub.topic": pages.url})[0] == 404
    assert say(refused["hub.callback"], intent)[0] == 404
    assert say(callback, intent) == (200, b"c1")

    def push(content: bytes, signed: bytes) -> int:
        signature = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return say(callback, {}, content, X_Hub_Signature=f"sha256={signature}", Link=links)[0]

    pages.put("/feed", "2", Link=links)
    assert push(b"2", b"3") == 202
    assert proxy.get(feed).is_hit, "a changed message is not believed"
    assert push(b"2", b"2") == 202
    got = proxy.get(feed)
    assert (got.body, got.is_hit, "detail=signal" in got.cache_status) == (b"2", False, True)

    proxy.has_written()
    proxy.stop()
    with config.open("a") as file:
        file.write("[prefetch]\nenabled = true\nrobots = false\nper_host_interval = 0\n")
    proxy = start_proxy("--config", str(config), state=tmp_path / "state")
    wait_for(lambda: proxy.metric("bestbefore_prefetch_objects") == 1.0)
    pages.put("/feed", "3", Link=links)
    contacts = len(pages.asked)
    assert push(b"3", b"3") == 202, "it survives a restart"
    wait_for(lambda: len(pages.asked) > contacts)  # no client has asked for it
    assert proxy.get(feed).body == b"3"
    assert proxy.metric('bestbefore_websub_total{result="signed"}') == 1.0
    denial = {"hub.mode": "denied", "hub.topic": feed, "hub.reason": "over"}
    assert say(callback, denial)[0] == 200
    wait_for(lambda: 'bestbefore_websub_total{result="refused"} 1.0' in proxy.metrics())
    proxy.stop()
    shown = bestbefore("show", feed, "--state", proxy.state, "--config", config)
    assert "  signals     of websub: precision 0.80, recall 0.80, by 2 judged at its site" in shown
    assert f"  pushes      refused at {pages.url}/out-of-order; 2 came, the last " in shown
    assert shown.count("\n    at 20") == 2, "each update is at the time of its push"
    assert len(pages.posted) == 3, "the first hub is asked again once the second has denied"


def test_a_push_to_any_of_two_proxies_with_one_callback_counts_for_both(
    start_proxy: Any, pages: Pages, valkey: Any, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    feed, ports = pages.url + "/feed", [free_port(), free_port()]
    links = f'<{pages.url}/hub>; rel="hub", <{feed}>; rel="self"'
    pages.put("/feed", "1", Link=links)
    proxies = []
    for port in ports:
        config = tmp_path / f"{port}.toml"
        config.write_text(f'[websub]\nlisten = "127.0.0.1:{port}"\ncallback_url = "http://127.0.0.1:{ports[0]}/cb"\n')
        options = ("--config", str(config), "--store", valkey.url, "--workers", str(1 + len(proxies)))
        proxies.append(start_proxy(*options, state=tmp_path / str(port)))

    def counted(name: str) -> float:
        name = f"bestbefore_{name}"
        return sum(one.metric(name) for one in proxies if name in one.metrics())

    def signals(result: str) -> float:
        return counted(f'signals_total{{kind="websub",result="{result}"}}')

    for proxy in proxies:
        assert [proxy.get(feed).status for _ in range(2)] == [200, 200]
    wait_for(lambda: bool(pages.posted))
    callback, secret = pages.posted[0]["hub.callback"], pages.posted[0]["hub.secret"]
    elsewhere = callback.replace(str(ports[0]), str(ports[1]))
    intent = {"hub.mode": "subscribe", "hub.topic": feed, "hub.challenge": "c1", "hub.lease_seconds": "86400"}
    assert say(elsewhere, intent) == (200, b"c1")
    for n, where in enumerate((callback, elsewhere, callback), 2):
        content = str(n).encode()
        pages.put("/feed", str(n), Link=links)
        signature = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
        assert say(where, {}, content, X_Hub_Signature=f"sha256={signature}")[0] == 202
        wait_for(lambda: proxies[0].get(feed).body == content)  # noqa: B023
        wait_for(lambda: proxies[1].get(feed).body == content)  # noqa: B023
    assert counted('websub_total{result="signed"}') == 3.0
    wait_for(lambda: signals("right") + signals("late") >= 2.0)  # the first change may have been before the lease
    assert signals("missed") == 0.0
    assert len(pages.posted) == 1, "one of them has subscribed for both"
