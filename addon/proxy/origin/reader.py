"""The parser of responses, without I/O.

It turns the bytes of a connection into events: interim heads, the final head, content, and the end.
"""

import re
from dataclasses import dataclass

from bestbefore.addon.proxy.origin.chunked import ChunkedReader
from bestbefore.addon.proxy.origin.framing import (
    HEAD_LIMIT_BYTES,
    ContentFrame,
    MalformedError,
    content_frame,
    framed_head,
    response_head,
)
from bestbefore.addon.rfc9111.fields.connection import connection_options, protected_in_response
from bestbefore.addon.rfc9111.message import Fields, Head

MAX_INTERIM = 32
"""The most interim responses before the final one: an origin could send them without end."""
_ANSWER = b"HTTP/"
_END_OF_HEAD = re.compile(rb"\n\r?\n")


@dataclass(frozen=True, slots=True)
class Interim:
    """An interim (1xx) response."""

    head: Head


@dataclass(frozen=True, slots=True)
class Final:
    """The final response's head."""

    head: Head
    frame: ContentFrame


@dataclass(frozen=True, slots=True)
class End:
    """The end of the response."""

    reusable: bool
    """Whether the connection may be reused."""
    unexpected_data: bool
    """Whether data followed that does not belong to the response."""
    displaced: bool = False
    """Whether that data begins like a response: then this response may belong to the request before."""


type ResponseEvent = Interim | Final | bytes | End


class ResponseReader:
    """Parses the response to one request."""

    def __init__(self, method: str) -> None:
        """`method`: of the request, which decides whether the response has content."""
        self._method = method
        self._buffer = bytearray()
        self._searched = 0
        self._interim = 0
        self._frame: ContentFrame | None = None
        self._left = 0
        """How many bytes of content are missing, if the length is known."""
        self._chunks: ChunkedReader | None = None
        self._sound = True
        self.ended = False

    @property
    def in_head(self) -> bool:
        """Whether a part of a head was received."""
        return self._frame is None and bool(self._buffer)

    def feed(self, data: bytes) -> list[ResponseEvent]:
        """Return the events of these bytes. Raises MalformedError; nothing may be fed after that, nor after `End`."""
        events: list[ResponseEvent] = []
        if self._frame is None:
            self._buffer += data
            data = self._read_heads(events)
        if self._frame is not None and not self.ended:
            self._read_content(data, self._frame, events)
        return events

    def feed_eof(self) -> list[ResponseEvent]:
        """Return the events of the end of the connection. Raises MalformedError if it comes too early."""
        if self._frame is not None and self._frame.length is None and not self._frame.chunked:
            self.ended = True
            return [End(reusable=False, unexpected_data=False)]
        raise MalformedError("the origin closed the connection early")

    def _read_heads(self, events: list[ResponseEvent]) -> bytes:
        """Parse interim heads and the final head; return the data after them."""
        while True:
            found = _END_OF_HEAD.search(self._buffer, max(0, self._searched - 2))
            if (len(self._buffer) if found is None else found.end()) > HEAD_LIMIT_BYTES:
                raise MalformedError("the head of the origin's answer is too large")
            if found is None:
                self._searched = len(self._buffer)
                return b""
            head, minor, sound = response_head(bytes(self._buffer[: found.end()]))
            del self._buffer[: found.end()]
            self._searched = 0
            self._sound = self._sound and sound and not _names_framing_field(head.fields)
            if head.status >= 200:
                self._frame = content_frame(self._method, head, minor)
                self._left = self._frame.length or 0
                self._chunks = ChunkedReader() if self._frame.chunked else None
                events.append(Final(framed_head(head), self._frame))
                rest = bytes(self._buffer)
                self._buffer.clear()
                return rest
            self._interim += 1
            if head.status == 101 or self._interim > MAX_INTERIM:
                raise MalformedError("an unrequested switch of protocols" if head.status == 101 else "too many 1xx")
            events.append(Interim(head))

    def _read_content(self, data: bytes, frame: ContentFrame, events: list[ResponseEvent]) -> None:
        if self._chunks is not None:
            events += self._chunks.feed(data)
            if self._chunks.done:
                self._end(frame, self._chunks.rest, events)
        elif frame.length is None:
            if data:
                events.append(data)
        else:
            content, rest = data[: self._left], data[self._left :]
            self._left -= len(content)
            if content:
                events.append(content)
            if not self._left:
                self._end(frame, rest, events)

    def _end(self, frame: ContentFrame, rest: bytes, events: list[ResponseEvent]) -> None:
        self.ended = True
        displaced = bool(rest) and (rest.startswith(_ANSWER) or _ANSWER.startswith(rest))
        events.append(End(frame.sound and self._sound and not rest, unexpected_data=bool(rest), displaced=displaced))


def _names_framing_field(fields: Fields) -> bool:
    """Whether Connection names a field that decides on framing or caching."""
    return bool(protected_in_response(fields)) or "transfer-encoding" in connection_options(fields)
