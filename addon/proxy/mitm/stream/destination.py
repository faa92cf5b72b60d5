"""The server that a request is for, by its target, its Host field and the connection that it came on."""

import re

import mitmproxy.http
from mitmproxy.net.http import url as http_url
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.mode_specs import ReverseMode

from bestbefore.addon.engine.request import MALFORMED_REQUEST, MISDIRECTED, is_one_host

_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def encoded(target: bytes) -> bytes:
    """Return the target with bytes beyond ASCII percent-encoded, as browsers send it.

    Some servers take such a byte for white space, at which the target ends.
    """
    return target if target.isascii() else _NOT_ASCII.sub(lambda found: b"%%%02X" % found[0][0], target)


def refusal(request: mitmproxy.http.Request, mode: HTTPMode, context: Context) -> tuple[int, str] | None:
    """Return status and detail of the refusal of a request without a target or with one of another connection."""
    if request.is_http2 and not _has_target(request, mode, context):
        return 400, MALFORMED_REQUEST
    return (421, MISDIRECTED) if _is_misdirected(request, mode, context) else None


def settle(request: mitmproxy.http.Request, mode: HTTPMode, context: Context) -> bool:
    """Set scheme, host and port as mitmproxy would; False if they cannot be determined."""
    if mode is HTTPMode.transparent:
        if not context.server.address:
            return False
        request.data.host, request.data.port = context.server.address[:2]
        request.scheme = "https" if context.server.tls else "http"
        is_reverse = isinstance(context.client.proxy_mode, ReverseMode)
        if is_reverse and is_one_host(request.headers.get_all("host")):  # else it is refused later
            # Clients send the proxy's name as the Host; the origin behind it has another name.
            request.host_header = http_url.hostport(request.scheme, request.host, request.port)
    elif not request.host:
        try:
            host, port = http_url.parse_authority(request.host_header or "", check=True)
        except ValueError:
            return False
        request.scheme = "https" if context.client.tls else "http"
        request.data.host, request.data.port = host, port or (443 if context.client.tls else 80)
    return True


def _has_target(request: mitmproxy.http.Request, mode: HTTPMode, context: Context) -> bool:
    """Whether the pseudo-header fields of a request name a target (RFC 9113 8.3.1)."""
    hosts = [request.authority, *request.headers.get_all("host")]
    in_tunnel = mode is HTTPMode.transparent and not isinstance(context.client.proxy_mode, ReverseMode)
    schemes = ("https",) if in_tunnel and context.client.tls else ("http", "https")
    return (request.path.startswith("/") or request.path == "*") and request.scheme in schemes and any(hosts)


def _is_misdirected(request: mitmproxy.http.Request, mode: HTTPMode, context: Context) -> bool:
    """Whether a request in a tunnel is for another server than the tunnel leads to."""
    address = context.server.address
    if mode is not HTTPMode.transparent or isinstance(context.client.proxy_mode, ReverseMode):
        return False
    return address is not None and any(
        not _names(named, address, tls=bool(context.client.tls))
        for named in (request.authority, *request.headers.get_all("host"))
        if named
    )


def _names(authority: str, address: tuple[str, int], *, tls: bool) -> bool:
    """Whether an authority (of Host, :authority or an absolute target) names this address."""
    try:
        host, port = http_url.parse_authority(authority, check=False)
    except ValueError:
        return False
    same = host.lower().rstrip(".") == address[0].lower().rstrip(".")
    return same and (port or (443 if tls else 80)) == address[1]
