"""The reader of simple requests: a whole GET or HEAD of HTTP/1.1, without anything unusual.

It accepts a small part of what `request_reader` and mitmproxy accept, and reads it as they do. It reads nothing of
anything else, so that they decide.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from bestbefore.addon.engine.request import misframed, received
from bestbefore.addon.rfc9111.message import Fields, Request, Target

_LABEL = rb"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = rb"(?=[a-z0-9.:-]{1,200}/)(?![a-z0-9.-]*xn--)" + _LABEL + rb"(?:\." + _LABEL + rb")*"
"""A name in lower case that mitmproxy does not decode, or an IPv4 address."""
PATH = rb"/[!$%&'()*+,;=:@/?A-Za-z0-9._~-]*"
"""A path with its query, in ASCII and without fragment."""
_LINE = re.compile(
    rb"(GET|HEAD) (?:http://(" + _HOST + rb")(?::([1-9][0-9]{0,4}))?)?"
    rb"(" + PATH + rb") HTTP/1\.1\r\n"
)
_FIELDS = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*\r\n)+")
UNUSUAL = frozenset((
    *("content-length", "expect", "http2-settings", "te", "trailer", "transfer-encoding", "upgrade"),
))
"""Fields about content or another protocol. Those of HTTP/1.1 must be exactly so, or the message ends elsewhere."""
_CONNECTION = {"keep-alive": False, "Keep-Alive": False, "close": True}
"""The values of Connection that are simple, and whether the connection is closed then."""
MAX_HEAD_BYTES = 8 * 1024
MAX_PORT = 65_535
TARGETS_REMEMBERED = 1024
_ANY = Target("http", "", 80, "/")
"""Any target: that of a simple request can make it neither ambiguous nor another request."""


@dataclass(frozen=True, slots=True)
class FixedServer:
    """The server that all requests on a connection are for: that of a tunnel or of a reverse proxy."""

    scheme: str
    host: str
    port: int
    is_reverse: bool
    """Whether Host names the proxy; the origin gets the server's own name in its place."""

    @property
    def authority(self) -> str:
        """The name and port of the server."""
        return target_of(self.scheme, self.host, self.port, b"/").authority


class SimpleRequest(NamedTuple):
    """A simple request, as the engine sees it."""

    request: Request
    closes: bool
    """Whether the connection is closed after the answer."""
    end: int
    """Where it ends in the data."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """The field lines of a request."""

    fields: Fields
    host: str
    closes: bool


class SimpleRequestReader:
    """Reads the simple requests of one connection. It remembers the last field lines, as clients repeat them."""

    def __init__(self, server: FixedServer | None) -> None:
        """`server`: None if each request names its server, as those to a forward proxy do."""
        self._server = server
        self._authority = "" if server is None else server.authority
        self._last_block = b""
        self._last: _Lines | None = None

    def read(self, data: bytes, start: int) -> SimpleRequest | None:
        """Return the request that begins at `start`; None if the data there is not a whole simple request."""
        line = _LINE.match(data, start)
        if line is None:
            return None
        end = data.find(b"\r\n\r\n", line.end(), start + MAX_HEAD_BYTES)
        if end < 0:
            return None
        block = data[line.end() : end + 2]
        if block != self._last_block:
            self._last_block, self._last = block, self._lines_of(block)
        if self._last is None:
            return None
        target = self._target(self._last.host, *line.group(2, 3, 4))
        if target is None:
            return None
        request = Request(line[1].decode("ascii"), target, self._last.fields, version="HTTP/1.1")
        return SimpleRequest(request, self._last.closes, end + 4)

    def _target(self, named: str, host: bytes | None, port: bytes | None, path: bytes) -> Target | None:
        """Return the target of a request line; None if `named`, which Host names, is another server."""
        server = self._server
        if server is not None:
            is_for_it = host is None and named == self._authority
            return target_of(server.scheme, server.host, server.port, path) if is_for_it else None
        if host is None or int(port or 80) > MAX_PORT:
            return None
        authority = host if port is None else b"%b:%b" % (host, port)
        if named != authority.decode("ascii"):
            return None
        return target_of("http", host.decode("ascii"), int(port or 80), path)

    def _lines_of(self, block: bytes) -> _Lines | None:
        """Parse field lines; None if they are not simple."""
        if _FIELDS.fullmatch(block) is None:
            return None
        lines = []
        for line in block.decode("ascii").split("\r\n")[:-1]:
            name, _, value = line.partition(":")
            lines.append((name, value.strip(" \t")))
        fields = Fields(lines)
        hosts, options = fields.values("host"), fields.values("connection")
        if not hosts or len(options) > 1 or not UNUSUAL.isdisjoint(fields.names()):
            return None
        of_any = Request("GET", _ANY, fields)
        if misframed(of_any) or received(of_any) is not of_any:
            return None
        closes = _CONNECTION.get(options[0]) if options else False
        if closes is None:
            return None
        if self._server is not None and self._server.is_reverse:
            host, fields = self._authority, _renamed(fields, self._authority)
        else:
            host = hosts[0]
        return _Lines(fields, host, closes)


@lru_cache(TARGETS_REMEMBERED)
def target_of(scheme: str, host: str, port: int, path: bytes) -> Target:
    """Return a target; the last ones are remembered, with their URLs."""
    return Target.of(scheme, host, port, path.decode("ascii"))


def _renamed(fields: Fields, authority: str) -> Fields:
    return Fields((name, authority if name.lower() == "host" else value) for name, value in fields.raw)
