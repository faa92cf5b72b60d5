"""Removing copies: by command, beside a running proxy and without one, and by PURGE through the listener."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from typing import Any
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.live

Start = Callable[..., Any]
Command = Callable[..., str]
UPDATES = {"/page": [1_000_000_000.0], "/other": [1_100_000_000.0]}
FRESH = {"Cache-Control": "max-age=600"}
PATIENCE_S = 60.0


@pytest.fixture
def origin(start_origin: Start) -> Any:
    started = start_origin(UPDATES)
    started.extra = FRESH
    return started


def until_gone(proxy: Any, *urls: str) -> None:
    """Wait until the proxy has heard that these copies were removed: at once, but on a machine that others use too."""
    end = time.monotonic() + PATIENCE_S
    while any(proxy.get(url, {"Cache-Control": "only-if-cached"}).status == 200 for url in urls):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_purged_copy_is_not_served_again_by_the_running_proxy(
    shared_proxy: Any, origin: Any, bestbefore: Command
) -> None:
    proxy, page, other = shared_proxy, origin.url + "/page", origin.url + "/other"
    for _ in range(2):
        assert [proxy.get(url).is_hit for url in (page, page, other, other)] == [False, True, False, True]
        proxy.has_written()
        assert bestbefore("purge", origin.url + "/*", "--state", proxy.state) == "purged the copies of 2 objects\n"
        until_gone(proxy, page, other)
    proxy.get(page)
    proxy.has_written()
    assert bestbefore("purge", page, "--state", proxy.state) == "purged the copies of 1 object\n"
    until_gone(proxy, page)
    assert not proxy.get(page).is_hit


def test_a_copy_purged_at_rest_is_not_served_after_the_start(
    start_proxy: Start, origin: Any, bestbefore: Command
) -> None:
    proxy = start_proxy()
    for path in ("/page", "/other"):
        proxy.get(origin.url + path)
    proxy.stop()
    assert bestbefore("purge", origin.url + "/page", "--state", proxy.state) == "purged the copies of 1 object\n"
    proxy = start_proxy()
    assert [proxy.get(origin.url + path).is_hit for path in ("/page", "/other")] == [False, True]


def test_a_running_proxy_starts_a_new_history_of_a_forgotten_object(
    start_proxy: Start, origin: Any, bestbefore: Command
) -> None:
    proxy, page = start_proxy(), origin.url + "/page"
    for _ in range(3):
        proxy.get(page, {"Cache-Control": "no-cache"})
    proxy.has_written()
    assert "  contacts    3," in bestbefore("show", page, "--state", proxy.state)
    assert bestbefore("forget", "127.0.0.1", "--state", proxy.state) == "forgot 1 object\n"
    until_gone(proxy, page)
    assert not proxy.get(page).is_hit
    proxy.stop()
    assert "  contacts    1," in bestbefore("show", page, "--state", proxy.state)


def test_a_client_of_this_machine_purges_the_target_of_its_request(shared_proxy: Any, origin: Any) -> None:
    proxy, page = shared_proxy, origin.url + "/page"
    assert [proxy.get(url).is_hit for url in (page, origin.url + "/other", page)] == [False, False, True]
    purged, again = (proxy.get(page, method="PURGE") for _ in range(2))
    assert (purged.status, purged.body) == (200, f"bestbefore: purged {page}\n".encode())
    assert (again.status, again.body) == (404, f"bestbefore: there is no copy of {page}\n".encode())
    assert not proxy.get(page).is_hit
    assert proxy.get(origin.url + "/other").is_hit, "a PURGE is for its own target alone"
    assert {contact.method for contact in origin.contacts} == {"GET"}


@pytest.mark.parametrize("lines", [
    {"Origin": "http://evil.example"},
    {"Sec-Fetch-Mode": "no-cors"},
    {"Via": "1.1 another"},
])
def test_a_purge_of_a_web_page_or_another_proxy_is_refused(
    shared_proxy: Any, origin: Any, lines: dict[str, str]
) -> None:
    proxy, page = shared_proxy, origin.url + "/page"
    proxy.get(page)
    assert proxy.get(page, lines, method="PURGE").status == 403
    assert proxy.get(page).is_hit
    assert {contact.method for contact in origin.contacts} == {"GET"}


def test_no_purge_is_ever_forwarded(start_proxy: Start, origin: Any) -> None:
    proxy = start_proxy("--mode", f"reverse:{origin.url}")
    for method, body in (("PURGE", b""), ("PURGE", b"content"), ("purge", b""), ("purge", b"content")):
        with closing(HTTPConnection("127.0.0.1", proxy.port, timeout=60)) as client:
            client.request(method, "/page", body=body, headers={"Upgrade": "h2c", "Connection": "Upgrade"})
            assert client.getresponse().status in (400, 404)
    assert origin.contacts == []


def test_a_purge_needs_no_store_and_health_shows_that_it_is_down(start_proxy: Start, origin: Any) -> None:
    proxy, page = start_proxy("--store", "redis://127.0.0.1:1"), origin.url + "/page"
    admin = proxy.greeting.partition("metrics")[2].split()[0].removesuffix("/metrics")
    with urlopen(f"{admin}/healthz", timeout=60) as answer:
        told = json.load(answer)
        assert (told["status"], told["store"], told["connections"]) == ("ok", "down", "ok")
    assert [proxy.get(page).is_hit for _ in range(2)] == [False, True]
    assert [proxy.get(page, method="PURGE").status for _ in range(2)] == [200, 404]
    assert not proxy.get(page).is_hit


class Numbered:
    """An origin whose n-th answer is fresh and bears n; the first one comes only in part until `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.answers = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._server.accept()[0],), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            unsafe = connection.recv(65536).startswith(b"POST")
            self.answers += 1
            number = self.answers
            lines = "Cache-Control: max-age=600\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n"
            connection.sendall(f"HTTP/1.1 200 OK\r\n{lines}".encode() + b"%d" % number)
            if number == 1 and not unsafe:
                self.go.wait()
            connection.sendall(bytes(99_999))

    def close(self) -> None:
        self.go.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def numbered() -> Iterator[Numbered]:
    origin = Numbered()
    yield origin
    origin.close()


@pytest.mark.parametrize("method", ["PURGE", "POST"])
def test_what_was_on_its_way_when_it_was_purged_or_changed_is_given_to_no_later_request(
    shared_proxy: Any, numbered: Numbered, method: str
) -> None:
    proxy, page = shared_proxy, numbered.url + "/page"
    with closing(HTTPConnection("127.0.0.1", proxy.port, timeout=60)) as early:
        early.request("GET", page)
        answer = early.getresponse()
        assert answer.read(1) == b"1"
        assert proxy.get(page, {"Content-Length": "0"}, method=method).status in (200, 404)
        later = proxy.get(page)
        assert int(later.body[:1]) == numbered.answers > 1
        numbered.go.set()
        assert len(answer.read()) == 99_999
    assert proxy.get(page).body == later.body
    assert proxy.get(page).is_hit
