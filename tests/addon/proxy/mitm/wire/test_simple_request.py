"""Which requests are simple, and how they are read. Mutated ones, beside mitmproxy's reading: tests/fuzz."""

import pytest

from bestbefore.addon.proxy.mitm.wire.simple_request import FixedServer, SimpleRequestReader

TUNNEL = FixedServer("https", "a.test", 443, is_reverse=False)
REVERSE = FixedServer("http", "a.test", 8080, is_reverse=True)
HEAD = b"GET http://a.test/x?y=1 HTTP/1.1\r\nHost: a.test\r\nX-A:  b\t\r\n\r\n"


def test_a_request_to_a_forward_proxy_names_its_server() -> None:
    simple = SimpleRequestReader(None).read(b"--" + HEAD + b"GET", 2)
    assert simple is not None
    request = simple.request
    assert (request.method, request.target.url, request.version) == ("GET", "http://a.test/x?y=1", "HTTP/1.1")
    assert request.fields.raw == (("Host", "a.test"), ("X-A", "b"))
    assert (simple.end, simple.closes) == (2 + len(HEAD), False)


@pytest.mark.parametrize(
    ("server", "host", "url"),
    [
        (TUNNEL, b"a.test", "https://a.test/x"),
        (TUNNEL, b"b.test", None),
        (TUNNEL, b"a.test:80", None),
        (REVERSE, b"proxy.test:3128", "http://a.test:8080/x"),
        (REVERSE, b"proxy.test, b", None),
    ],
)
def test_on_a_connection_to_one_server_host_must_name_it_or_the_proxy(
    server: FixedServer, host: bytes, url: str | None
) -> None:
    simple = SimpleRequestReader(server).read(b"GET /x HTTP/1.1\r\nhOST: %b\r\n\r\n" % host, 0)
    assert (None if simple is None else simple.request.target.url) == url
    if simple is not None:
        assert simple.request.fields.raw == (("hOST", simple.request.target.authority),)


@pytest.mark.parametrize("server", [None, TUNNEL])
def test_the_form_of_the_target_is_that_of_the_connection(server: FixedServer | None) -> None:
    reader = SimpleRequestReader(server)
    target = b"/x" if server is None else b"http://a.test/x"
    assert reader.read(b"GET %b HTTP/1.1\r\nHost: a.test\r\n\r\n" % target, 0) is None


@pytest.mark.parametrize(("value", "closes"), [(b"close", True), (b"keep-alive", False), (b"Keep-Alive", False)])
def test_connection_says_whether_it_is_closed(value: bytes, closes: bool) -> None:
    simple = SimpleRequestReader(None).read(HEAD[:-2] + b"Connection: %b\r\n\r\n" % value, 0)
    assert simple is not None
    assert simple.closes is closes


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        (b"GET ", b"POST "),
        (b"GET ", b"get "),
        (b"GET ", b"\r\nGET "),
        (b"1.1", b"1.0"),
        (b"http://a.test/", b"https://a.test/"),
        (b"http://a.test/", b"HTTP://a.test/"),
        (b"//a.test", b"//b.test"),
        (b"//a.test/x", b"//a.test"),
        (b"//a.test", b"//u@a.test"),
        (b"//a.test", b"//a.test:080"),
        (b"a.test", b"xn--a.test"),
        (b"a.test", b"b.xn--a.test"),
        (b"a.test", b"A.test"),
        (b"a.test", b"a_b.test"),
        (b"a.test", b"[::1]"),
        (b"a.test", b"a.test:65536"),
        (b"a.test", b"a" * 250),
        (b"?y", b"#y"),
        (b"?y", b"\xe9"),
        (b"?y", b" y"),
        (b"\r\nHost: a.test", b""),
        (b"Host: a.test", b"Host: a.test\r\nHost: a.test"),
        (b"Host: a.test", b"Host : a.test"),
        (b"Host: a.test\r\n", b"Host: a.test\n"),
        (b"X-A: ", b"X A: "),
        (b"X-A: ", b" X-A: "),
        (b"X-A: ", b"X-A\xe9: "),
        (b" b", b" \xe9"),
        (b" b", b" b\x00"),
        (b" b", b" b\r\n c"),
        (b"X-A: ", b"Content-Length: "),
        (b"X-A: ", b"transfer-encoding: "),
        (b"X-A: ", b"Expect: "),
        (b"X-A: ", b"Upgrade: "),
        (b"X-A: ", b"TE: "),
        (b"X-A: ", b"Connection: "),
        (b"X-A: ", b"Connection: close\r\nConnection: "),
        (b" b\t", b"b" * 9000),
        (b"\r\n\r\n", b"\r\n\r"),
    ],
)
def test_anything_unusual_is_not_read(was: bytes, is_now: bytes) -> None:
    changed = HEAD.replace(was, is_now)
    assert changed != HEAD
    assert SimpleRequestReader(None).read(changed, 0) is None


def test_field_lines_that_are_repeated_are_the_same_object() -> None:
    reader = SimpleRequestReader(None)
    other = HEAD.replace(b"/x", b"/z")
    one, two = reader.read(HEAD, 0), reader.read(other, 0)
    assert one is not None
    assert two is not None
    assert (one.request.fields is two.request.fields, two.request.target.path) == (True, "/z?y=1")
    three = reader.read(HEAD.replace(b" b", b" c"), 0)
    assert three is not None
    assert three.request.fields.get("x-a") == "c"
