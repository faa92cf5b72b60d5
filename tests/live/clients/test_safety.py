"""What one client must never get from another: pages, cookies, credentials, and what another made the origin say.

The origin echoes each request, its target and its fields, so that whatever crosses can be seen.
"""

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

pytestmark = pytest.mark.live

type Start = Callable[..., Any]
FRESH = "Cache-Control: max-age=600"
VALIDATOR = 'ETag: "1"'


class Echo:
    """An origin that answers each request with that request, and with the lines given."""

    def __init__(self, leaf_file: Path | None = None) -> None:
        self.lines: Sequence[str] = (FRESH,)
        self.status = 200
        self.content: bytes | None = None
        """If set, this is the content instead."""
        self.heads: list[str] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self._context: ssl.SSLContext | None = None
        if leaf_file is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(leaf_file)
        self.authority = f"{'127.0.0.1' if leaf_file is None else 'localhost'}:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def scheme(self) -> str:
        return "http" if self._context is None else "https"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._server.accept()[0],), daemon=True).start()

    def _answer(self, plain: socket.socket) -> None:
        with suppress(OSError), plain, ExitStack() as stack:
            connection = plain
            if self._context is not None:
                connection = stack.enter_context(self._context.wrap_socket(plain, server_side=True))
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            head, _, rest = received.partition(b"\r\n\r\n")
            announced = re.search(rb"Content-Length: (\d+)", head)
            while announced is not None and len(rest) < int(announced[1]):
                rest += connection.recv(65536)
            received = head + b"\r\n\r\n" + rest
            self.heads.append(head.decode("latin-1"))
            content = received if self.content is None else self.content
            status = self.status
            if "If-None-Match" in self.heads[-1] and VALIDATOR in self.lines:
                status, content = 304, b""
            lines = [f"HTTP/1.1 {status} x", "Connection: close", *self.lines]
            if not any(line.startswith("Content-Length") for line in self.lines):
                lines.append(f"Content-Length: {len(content)}")
            connection.sendall("\r\n".join((*lines, "", "")).encode("latin-1") + content)

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@dataclass(frozen=True)
class Answer:
    status: int
    head: str
    content: str

    @property
    def is_hit(self) -> bool:
        return "bestbefore; hit" in self.head


@dataclass
class Browser:
    """Sends requests for an origin through a proxy, each on a connection of its own."""

    proxy: Any
    origin: Echo

    def get(self, path: str, *lines: str, method: str = "GET", target: str = "", host: str = "") -> Answer:
        """`target` and `host` stand in for those that follow from origin and path."""
        with closing(socket.create_connection(("127.0.0.1", self.proxy.port), 60)) as plain, ExitStack() as stack:
            connection = self._tunnelled(plain, stack) if self.origin.scheme == "https" else plain
            absolute = "" if connection is not plain else f"http://{self.origin.authority}"
            named = f"Host: {host or self.origin.authority}"
            head = (f"{method} {target or absolute + path} HTTP/1.1", named, "Connection: close", *lines)
            connection.sendall("\r\n".join((*head, "", "")).encode("latin-1"))
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        answer_head, _, content = received.decode("latin-1").partition("\r\n\r\n")
        return Answer(int(answer_head.split()[1]), answer_head, content)

    def _tunnelled(self, plain: socket.socket, stack: ExitStack, protocol: str = "http/1.1") -> ssl.SSLSocket:
        authority = self.origin.authority
        plain.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert plain.recv(65536).startswith(b"HTTP/1.1 200 ")
        context = ssl.create_default_context(cafile=self.proxy.state / "mitmproxy-ca-cert.pem")
        context.set_alpn_protocols([protocol])
        return stack.enter_context(context.wrap_socket(plain, server_hostname=authority.partition(":")[0]))

    def get_2(self, path: str, *fields: tuple[str, str]) -> Answer:
        """In HTTP/2."""
        with closing(socket.create_connection(("127.0.0.1", self.proxy.port), 60)) as plain, ExitStack() as stack:
            secure = self._tunnelled(plain, stack, "h2")
            connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
            connection.initiate_connection()
            pseudo = {":method": "GET", ":scheme": "https", ":authority": self.origin.authority, ":path": path}
            connection.send_headers(1, [*pseudo.items(), *fields], end_stream=True)
            head, content = "", b""
            while True:
                secure.sendall(connection.data_to_send())
                for event in connection.receive_data(secure.recv(65536)):
                    if isinstance(event, h2.events.ResponseReceived):
                        head = "\r\n".join(f"{name}: {value}" for name, value in event.headers)
                    elif isinstance(event, h2.events.DataReceived):
                        content += event.data
                    elif isinstance(event, h2.events.StreamEnded):
                        return Answer(int(head.split()[1]), head, content.decode("latin-1"))


@pytest.fixture
def plain(shared_proxy: Any) -> Iterator[Browser]:
    """A browser of a site over HTTP."""
    origin = Echo()
    yield Browser(shared_proxy, origin)
    origin.close()


@pytest.fixture
def secure(shared_proxy: Any, authority: Any) -> Iterator[Browser]:
    """A browser of a site over HTTPS."""
    origin = Echo(authority.leaf_file)
    yield Browser(shared_proxy, origin)
    origin.close()


@pytest.fixture
def either(request: pytest.FixtureRequest) -> Browser:
    browser: Browser = request.getfixturevalue(request.param)
    return browser


over_both = pytest.mark.parametrize("either", ["plain", "secure"], indirect=True)


# Pages of persons.


def test_over_https_a_page_fetched_with_a_cookie_is_for_that_cookie(secure: Browser) -> None:
    ann, bob = "Cookie: sid=ann", "Cookie: sid=bob"
    assert [secure.get("/", ann).is_hit for _ in range(2)] == [False, True]
    for other in ((bob,), ()):
        answer = secure.get("/", *other)
        assert not answer.is_hit
        assert "sid=ann" not in answer.content
    assert "sid=ann" in secure.get("/", ann).content
    assert secure.get("/", ann).is_hit
    assert "sid=ann" not in secure.get_2("/", ("cookie", "sid=bob")).content
    assert "sid=ann" in secure.get_2("/", ("cookie", "sid=ann")).content


def test_over_http_2_a_cookie_in_pieces_is_one_cookie(secure: Browser) -> None:
    pieces = ("cookie", "sid=ann"), ("cookie", "b=2")
    assert not secure.get_2("/", *pieces).is_hit
    assert secure.get("/", "Cookie: sid=ann; b=2").is_hit
    assert not secure.get_2("/", pieces[0]).is_hit


@pytest.mark.parametrize("lines", [
    ("Cache-Control: public, max-age=600",),
    ("Cache-Control: s-maxage=600",),
    (FRESH, "Content-Type: image/png"),
    (FRESH, "Content-Type: text/css"),
])
def test_over_https_what_is_the_same_for_all_is_shared(secure: Browser, lines: Sequence[str]) -> None:
    secure.origin.lines = lines
    secure.get("/", "Cookie: sid=ann")
    assert secure.get("/", "Cookie: sid=bob").is_hit
    assert secure.get("/").is_hit


@pytest.mark.parametrize("lines", [
    (FRESH, "Content-Type: image/png", "Set-Cookie: sid=new"),
    (FRESH, "Set-Cookie: sid=new"),
    ("Content-Type: image/png", VALIDATOR, "Set-Cookie: sid=new"),
])
def test_over_https_a_cookie_is_set_for_one_client_only(secure: Browser, lines: Sequence[str]) -> None:
    secure.origin.lines = lines
    for path, asked in (("/nobody", ()), ("/ann", ("Cookie: sid=ann",))):
        secure.get(path, *asked)
        for other in ((), ("Cookie: sid=bob",)):
            assert not secure.get(path, *other).is_hit


@over_both
def test_a_cookie_is_stored_only_with_explicit_freshness(either: Browser) -> None:
    either.origin.lines = (VALIDATOR, "Last-Modified: Tue, 26 May 2020 20:26:40 GMT", "Set-Cookie: sid=new")
    assert [either.get("/").is_hit for _ in range(2)] == [False, False]
    assert len([head for head in either.origin.heads if "If-None-Match" in head]) == 0


@over_both
@pytest.mark.parametrize("lines", [(FRESH,), ("Cache-Control: proxy-revalidate, max-age=600",), (VALIDATOR,)])
def test_what_was_fetched_with_credentials_is_not_stored(either: Browser, lines: Sequence[str]) -> None:
    either.origin.lines = lines
    for path, other in (("/nobody", ()), ("/other", ("Authorization: Bearer other",))):
        assert "secret" in either.get(path, "Authorization: Bearer secret").content
        answer = either.get(path, *other)
        assert not answer.is_hit
        assert "secret" not in answer.content


@over_both
@pytest.mark.parametrize("directive", ["public, max-age=600", "s-maxage=600", "must-revalidate, max-age=600"])
def test_a_response_to_credentials_is_stored_if_the_origin_allows_it(either: Browser, directive: str) -> None:
    either.origin.lines = (f"Cache-Control: {directive}",)
    either.get("/", "Authorization: Bearer secret")
    assert either.get("/").is_hit


@pytest.mark.parametrize("obey", ["strict", "override"])
def test_learned_freshness_does_not_apply_to_requests_with_credentials_or_cookies(
    start_proxy: Start, tmp_path: Path, obey: str
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text(f'[default]\npolicy = "ttl"\nmin_ttl = "1h"\nobey = "{obey}"\n')
    browser = Browser(start_proxy("--config", str(config)), Echo())
    modified = "Last-Modified: Tue, 26 May 2020 20:26:40 GMT"
    cookie, credentials = ("Cookie: sid=ann",), ("Authorization: Bearer secret",)
    cases: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], bool]] = [
        ((), (), (), True),
        (cookie, (), (), False),
        ((), cookie, (), False),
        (cookie, cookie, (), False),
        ((), credentials, (), False),
        (credentials, (), ("Cache-Control: must-revalidate",), False),
        ((), (), ("Set-Cookie: sid=new",), False),
        (cookie, cookie, ("Cache-Control: public",), True),
        (credentials, credentials, ("Cache-Control: public",), True),
        ((), (), ("Cache-Control: public", "Set-Cookie: sid=new"), False),
    ]
    with closing(browser.origin):
        for number, (fetched, asked, lines, learned) in enumerate(cases):
            # What `override` would lengthen has a lifetime of its own.
            own = ("Expires: 0",) if obey == "override" else ()
            browser.origin.lines = (VALIDATOR, modified, *own, *lines)
            browser.get(f"/{number}", *fetched)
            assert browser.get(f"/{number}", *asked).is_hit is learned, (fetched, asked, lines)


# What no key holds.


@over_both
@pytest.mark.parametrize("line", [
    "X-Forwarded-Host: evil", "X-Forwarded-Scheme: evil", "X_Forwarded_Host: evil", "Forwarded: host=evil",
    "X-Original-URL: /evil", "X-Rewrite-URL: /evil", "X-HTTP-Method-Override: evil",
])
def test_fields_that_choose_the_answer_lead_past_the_store(either: Browser, line: str) -> None:
    assert "evil" in either.get("/", line).content
    victim = either.get("/")
    assert not victim.is_hit
    assert "evil" not in victim.content
    assert not either.get("/", line).is_hit
    assert either.get("/").is_hit


@over_both
def test_a_get_with_content_leads_past_the_store(either: Browser) -> None:
    evil = ("Content-Length: 4", "", "evil")
    assert "evil" in either.get("/", *evil).content
    victim = either.get("/")
    assert not victim.is_hit
    assert "evil" not in victim.content
    assert not either.get("/", *evil).is_hit


@over_both
@pytest.mark.parametrize("host", ["evil.example\r\nHost: {0}", "{0}\r\nHost: evil.example"])
def test_two_hosts_are_refused(either: Browser, host: str) -> None:
    assert either.get("/", host=host.format(either.origin.authority)).status == 400
    assert either.origin.heads == []


def test_a_host_that_is_not_the_targets_leads_past_the_store(plain: Browser) -> None:
    answer = plain.get("/", host="evil.example")
    assert "evil" not in answer.content, "the origin is told the host that it was connected for"
    assert not plain.get("/").is_hit
    assert plain.get("/").is_hit
    assert not plain.get("/", host="evil.example").is_hit


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("target", "host"),
    [("/", "evil.example"), ("https://evil.example/", ""), ("http://evil.example/", "evil.example"), ("/", "{0}:1")],
)
def test_what_is_for_another_server_than_its_tunnel_is_misdirected(
    secure: Browser, target: str, host: str, method: str
) -> None:
    """RFC 9110 15.5.20."""
    host = host.format(secure.origin.authority.partition(":")[0])
    assert secure.get("/", method=method, target=target, host=host).status == 421
    assert secure.origin.heads == []


@pytest.mark.parametrize("line", ["X: " + "x" * 9000, "X: 1\r\nX: 2"])
def test_an_error_about_strange_fields_is_not_shown_to_others(plain: Browser, line: str) -> None:
    plain.origin.status = 400
    assert plain.get("/", line).status == 400
    plain.origin.status = 200
    answer = plain.get("/")
    assert (answer.status, answer.is_hit) == (200, False)


@pytest.mark.parametrize("lines", [
    ("Content-Length: 0", "Content-Length: 5"),
    ("Content-Length: 5", "Transfer-Encoding: chunked"),
    ("Transfer-Encoding: chunked, identity",),
    ("Content-Length: +5",),
    ("X : 1",),
    ("X: 1\rY: 2",),
    ("X: 1\r\n folded",),
    ("X: \x00",),
])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_that_can_be_read_in_two_ways_are_refused(
    plain: Browser, lines: Sequence[str], method: str
) -> None:
    assert plain.get("/", *lines, method=method).status == 400
    assert plain.origin.heads == []


def test_an_answer_to_a_request_for_a_part_is_chosen_as_others_are(plain: Browser) -> None:
    plain.origin.lines = (FRESH, "Content-Encoding: zstd")
    plain.get("/", "Range: bytes=0-99999", "Accept-Encoding: zstd")
    assert "zstd" not in plain.origin.heads[0], "no coding is asked for that other clients may not read"


# Names.


@over_both
def test_two_spellings_of_a_path_are_two_objects(either: Browser) -> None:
    paths = [
        *("/a/b", "/A/b", "/a//b", "//a/b", "/a%2fb", "/a%2Fb", "/a;/b", "/a/b;", "/a/b%3b", "/%61/b", "/a/./b"),
        *("/a/../a/b", "/a/..%2fa/b", "/a/%2e%2e/a/b", "/a/b/", "/a/b?x", "/a/b?X", "/a/b?x=", "/a/b%3fx", "/a%00/b"),
        *("/private/..%2fpublic.css", "/private/../public.css", "/private/%2e%2e/public.css", "/public.css", "/a\\b"),
    ]
    for path in paths:
        answer = either.get(path)
        assert not answer.is_hit, path
        assert answer.content.startswith(f"GET {path} HTTP/1.1\r\n")
    for path in paths:
        answer = either.get(path)
        assert answer.is_hit, path
        assert answer.content.startswith(f"GET {path} HTTP/1.1\r\n")


def test_what_a_url_may_be_spelt_with_is_one_object(plain: Browser) -> None:
    host, _, port = plain.origin.authority.partition(":")
    assert not plain.get("/a").is_hit
    for target, named in (
        (f"HTTP://{host}:{port}/a", ""),
        (f"http://{host}:{port}/a#fragment", ""),
        (f"http://{host}:0{port}/a", ""),
        (f"http://{host}.:{port}/a", f"{host}.:{port}"),
        ("/a", ""),
    ):
        assert plain.get("/a", target=target, host=named).is_hit, target
    assert len(plain.origin.heads) == 1


def test_a_url_with_a_password_in_it_is_refused(plain: Browser) -> None:
    assert plain.get("/a", target=f"http://ann:secret@{plain.origin.authority}/a").status == 400
    assert plain.origin.heads == []


@pytest.mark.parametrize("host", [
    "127.0.0.%31", "%31", "127.0.0.1%00.example", "127.0.0.1\\@evil.example", "[::1", "a b",
])
def test_a_host_that_is_none_is_refused(plain: Browser, host: str) -> None:
    port = plain.origin.authority.partition(":")[2]
    assert plain.get("/", target=f"http://{host}:{port}/", host="x").status in (400, 502)
    assert plain.origin.heads == []


# Content.


@over_both
def test_content_is_stored_and_served_as_it_is(either: Browser) -> None:
    either.origin.lines = (FRESH, "Content-Encoding: gzip")
    either.origin.content = bytes(range(256)) * 100
    first, second = (either.get("/", "Accept-Encoding: gzip") for _ in range(2))
    assert second.is_hit
    assert first.content == second.content == either.origin.content.decode("latin-1")
    assert not either.get("/").is_hit, "it is not undone for who cannot read it"


@over_both
def test_content_that_is_cut_short_is_not_stored(either: Browser) -> None:
    either.origin.lines = (FRESH, VALIDATOR, "Content-Length: 100000")
    either.origin.content = b"x" * 50_000
    assert len(either.get("/").content) <= 50_000
    answer = either.get("/")
    assert not answer.is_hit
    assert "If-None-Match" not in either.origin.heads[-1]
