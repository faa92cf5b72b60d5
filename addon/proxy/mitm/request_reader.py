"""The reader of HTTP/1 requests: mitmproxy's, made strict.

mitmproxy strips white space around a field, takes a bare LF for the end of a line, and fails at trailer fields. A proxy
in front of this one may parse the same bytes otherwise, so an ambiguous request is refused before mitmproxy parses it.
"""

import re
from typing import Any

import h11
from h11._readers import ChunkedReader as MitmproxysReader
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http import Http1Server, HttpEvent, ResponseProtocolError

from bestbefore.addon.proxy.mitm.memory.bounds import HEAD_BYTES
from bestbefore.addon.proxy.origin.chunked import ChunkedReader
from bestbefore.addon.proxy.origin.framing import MalformedError

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_HEAD = re.compile(
    _TOKEN + rb" [^\x00-\x20\x7f]+ HTTP/1\.[01]\r\n(?:" + _TOKEN + rb":[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n"
)
"""The whole head of a request (RFC 9112 3 and 5), without folded lines."""
_LIKE_ANOTHER = re.compile(rb"(?!HEAD |CONNECT )(?i:HEAD|CONNECT) ")
"""Methods that mitmproxy and others, ignoring case, take for HEAD or CONNECT, which change where a message ends."""
_END_OF_HEAD = re.compile(rb"\n\r?\n")

_HOST = re.compile(rb"\r\nhost:", re.IGNORECASE)
_WITH_HOST = re.compile(rb"[^\r]* HTTP/1\.1\r")
"""A request line that a Host must follow (RFC 9112 3.2)."""

MALFORMED = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
"""Has no content, because the method is not known, and the response to a HEAD has none."""
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class StrictHttp1Server(Http1Server):
    """Accepts only well-formed heads of at most `HEAD_BYTES`, and well-formed chunks; discards trailer fields."""

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head as mitmproxy does, once it is complete and well-formed."""
        if isinstance(event, events.DataReceived):
            waiting = bytes(self.buf)
            while waiting.startswith(b"\r\n"):  # empty lines before a request line (RFC 9112 2.2)
                self.buf.maybe_extract_at_most(2)
                waiting = waiting[2:]
            end = _END_OF_HEAD.search(waiting)
            if (len(waiting) if end is None else end.end()) > HEAD_BYTES:
                yield from self._refuse(TOO_LARGE)
                return
            if end is None:
                return
            if not _is_wellformed(waiting[: end.end()]):
                yield from self._refuse(MALFORMED)
                return
        for command in super().read_headers(event):
            # mitmproxy's own error response has content, which the response to a HEAD cannot have.
            yield commands.SendData(self.conn, MALFORMED) if isinstance(command, commands.SendData) else command

    def send(self, event: HttpEvent) -> layer.CommandGenerator[None]:
        """Send as mitmproxy does; but an error response to a HEAD has no content."""
        is_head = self.request is not None and self.request.method == "HEAD"
        bodiless = is_head and isinstance(event, ResponseProtocolError)
        for command in super().send(event):
            if bodiless and isinstance(command, commands.SendData):
                head = command.data.partition(b"\r\n\r\n")[0]
                yield commands.SendData(self.conn, head + b"\r\n\r\n")
            else:
                yield command

    def _refuse(self, response: bytes) -> layer.CommandGenerator[None]:
        self.buf.maybe_extract_at_most(len(self.buf))
        self.state = self.done
        if self.conn.state & ConnectionState.CAN_WRITE:
            yield commands.SendData(self.conn, response)
        yield commands.CloseConnection(self.conn)

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read the content as mitmproxy does, with the strict reader of chunks."""
        if isinstance(self.body_reader, MitmproxysReader):
            self.body_reader = _Chunks()  # type: ignore[assignment]
        yield from super().read_body(event)


def _is_wellformed(head: bytes) -> bool:
    if _HEAD.fullmatch(head) is None or _LIKE_ANOTHER.match(head):
        return False
    return _WITH_HOST.match(head) is None or _HOST.search(head) is not None


class _Chunks:
    """A strict reader of chunked content, with the interface of h11's body readers, which mitmproxy uses."""

    def __init__(self) -> None:
        self._reader = ChunkedReader(padded=False)

    def __call__(self, waiting: Any) -> h11.Data | h11.EndOfMessage | None:
        """Return the next piece or the end from the buffered data; None if more data is needed."""
        if self._reader.done:
            return h11.EndOfMessage()
        data = waiting.maybe_extract_at_most(len(waiting)) if waiting else None
        if data is None:
            return None
        try:
            content = b"".join(self._reader.feed(bytes(data)))
        except MalformedError as error:
            raise h11.RemoteProtocolError(str(error)) from None
        if self._reader.done:
            waiting += self._reader.rest
        if content:
            return h11.Data(data=content)
        return h11.EndOfMessage() if self._reader.done else None

    def read_eof(self) -> h11.EndOfMessage:
        """Raise an error: the client closed the connection before the end of the content."""
        raise h11.RemoteProtocolError("the client closed the connection early")
