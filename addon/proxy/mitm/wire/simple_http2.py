"""The reading of simple requests over HTTP/2: a GET or HEAD without content and without anything unusual."""

import re
from collections.abc import Sequence

from bestbefore.addon.engine.request import misframed
from bestbefore.addon.proxy.mitm.wire.simple_request import PATH, UNUSUAL, FixedServer, target_of
from bestbefore.addon.rfc9111.message import Fields, Request

_PATH = re.compile(PATH)
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(rb"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
_METHODS = {b"GET": "GET", b"HEAD": "HEAD"}
_OF_HTTP1 = frozenset(("connection", "host", "keep-alive", "proxy-connection"))


def http2_request(headers: Sequence[tuple[bytes, bytes]], server: FixedServer) -> Request | None:
    """Return the request with these fields, on a connection to this server; None if it is not simple.

    It has no content. Each field has one line: so that none can be read as two, or two as one.
    """
    pseudo, lines = dict(headers[:4]), headers[4:]
    method, path = _METHODS.get(pseudo.get(b":method", b"")), pseudo.get(b":path", b"")
    authority = pseudo.get(b":authority", b"")
    if len(pseudo) < 4 or method is None or pseudo.get(b":scheme") != server.scheme.encode():
        return None
    if server.is_reverse or authority != server.authority.encode() or _PATH.fullmatch(path) is None:
        return None
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in lines):
        return None
    fields = Fields((name.decode("ascii"), value.decode("ascii")) for name, value in lines)
    names = fields.names()
    if len(names) < len(lines) or not UNUSUAL.isdisjoint(names) or not _OF_HTTP1.isdisjoint(names):
        return None
    request = Request(method, target_of(server.scheme, server.host, server.port, path), fields, version="HTTP/2.0")
    return None if misframed(request) else request
