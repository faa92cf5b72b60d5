"""The server that a request is for."""

from typing import Any

import pytest
from mitmproxy.http import Headers
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tutils

from bestbefore.addon.proxy.mitm.stream.destination import _has_target, _names, encoded, refusal, settle


@pytest.mark.parametrize(
    ("target", "expected"),
    [(b"/plain?a=%20", b"/plain?a=%20"), ("/\u00e9".encode(), b"/%C3%A9"), (b"/\x80\xff", b"/%80%FF")],
)
def test_bytes_beyond_ascii_are_encoded(target: bytes, expected: bytes) -> None:
    assert encoded(target) == expected


def message_of(**parts: Any) -> Any:
    return tutils.treq(**{"authority": b"", "host": "", "port": 0, **parts})


@pytest.mark.parametrize(("tls", "port"), [(False, 80), (True, 443)])
def test_a_request_without_a_host_is_for_that_of_its_field(context: Context, tls: bool, port: int) -> None:
    context.client.tls = tls
    for given, found in (("b.test", port), ("b.test:8080", 8080)):
        message = message_of(headers=Headers(Host=given))
        assert settle(message, HTTPMode.regular, context)
        assert (message.scheme, message.data.host, message.data.port) == ("https" if tls else "http", "b.test", found)
    message = message_of(headers=Headers(Host="b.test:x"))
    assert not settle(message, HTTPMode.regular, context)
    message = message_of(headers=Headers(Host="other.test"), host="a.test", port=81)
    assert settle(message, HTTPMode.regular, context)
    assert (message.data.host, message.data.port) == ("a.test", 81)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    ("proxy_mode", "host", "shown"),
    [
        ("regular", ["b.test"], ["b.test"]),
        ("reverse:http://a.test", ["b.test"], ["a.test:81"]),
        ("reverse:http://a.test", ["b.test", "c.test"], ["b.test", "c.test"]),
    ],
)
def test_a_request_in_a_tunnel_or_to_an_origin_goes_to_the_server_of_its_connection(
    context: Context, tls: bool, proxy_mode: str, host: list[str], shown: list[str]
) -> None:
    context.client.proxy_mode = ProxyMode.parse(proxy_mode)
    lines = Headers([(b"Host", name.encode()) for name in host])
    message = message_of(headers=lines)
    context.server.address, context.server.tls = None, tls
    assert not settle(message, HTTPMode.transparent, context), "it leads nowhere"
    context.server.address = ("a.test", 81)
    assert settle(message, HTTPMode.transparent, context)
    assert (message.scheme, message.data.host, message.data.port) == ("https" if tls else "http", "a.test", 81)
    assert message.headers.get_all("host") == shown


@pytest.mark.parametrize(
    ("mode", "proxy_mode", "tls", "parts", "has"),
    [
        ("regular", "regular", False, {"scheme": b"http"}, True),
        ("regular", "regular", False, {"scheme": b"https"}, True),
        ("regular", "regular", False, {"scheme": b"ftp"}, False),
        ("regular", "regular", False, {"path": b"*"}, True),
        ("regular", "regular", False, {"path": b"a"}, False),
        ("regular", "regular", False, {"headers": Headers()}, False),
        ("regular", "regular", False, {"headers": Headers(), "authority": b"a"}, True),
        ("transparent", "regular", True, {"scheme": b"https"}, True),
        ("transparent", "regular", True, {"scheme": b"http"}, False),
        ("transparent", "regular", False, {"scheme": b"http"}, True),
        ("transparent", "reverse:http://a", True, {"scheme": b"http"}, True),
    ],
)
def test_a_target_has_a_scheme_of_its_connection_a_path_and_a_host(
    context: Context, mode: str, proxy_mode: str, tls: bool, parts: dict[str, Any], has: bool
) -> None:
    context.client.tls, context.client.proxy_mode = tls, ProxyMode.parse(proxy_mode)
    defaults = {"headers": Headers(Host="a"), "path": b"/", "scheme": b"https" if tls else b"http"}
    message = message_of(**{**defaults, **parts})
    assert _has_target(message, HTTPMode[mode], context) is has


@pytest.mark.parametrize(
    ("authority", "tls", "named"),
    [
        ("example.org", False, True), ("EXAMPLE.org.:80", False, True), ("example.org:443", True, False),
        ("example.org", True, False), ("example.com", False, False), ("example.org:8080", False, False),
        ("example.org:x", False, False),
    ],
)
def test_an_authority_without_a_port_names_that_of_its_scheme(authority: str, tls: bool, named: bool) -> None:
    assert _names(authority, ("example.org", 80), tls=tls) is named


@pytest.mark.parametrize(
    ("mode", "proxy_mode", "host", "address", "is_misdirected"),
    [
        (HTTPMode.transparent, "regular", "example.org", ("example.org", 80), False),
        (HTTPMode.transparent, "regular", "example.com", ("example.org", 80), True),
        (HTTPMode.transparent, "regular", "example.com", None, False),
        (HTTPMode.transparent, "reverse:http://example.org", "example.com", ("example.org", 80), False),
        (HTTPMode.regular, "regular", "example.com", ("example.org", 80), False),
    ],
)
def test_only_requests_in_a_tunnel_to_another_server_are_misdirected(
    context: Context, mode: HTTPMode, proxy_mode: str, host: str, address: tuple[str, int] | None, is_misdirected: bool
) -> None:
    context.server.address, context.client.proxy_mode = address, ProxyMode.parse(proxy_mode)
    request = tutils.treq(authority=b"", headers=Headers(Host=host))
    assert (refusal(request, mode, context) == (421, "misdirected")) is is_misdirected
