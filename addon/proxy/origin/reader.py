"""The reader of an answer, from the bytes of its connection.

Interim heads, the final head, content, and the end (no I/O).
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

INTERIM_AT_MOST = 32
"""Responses before the final one: an origin can send them without end."""
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
    """The answer is complete."""

    reusable: bool
    """Whether the connection may carry another exchange."""
    surplus: bool
    """Whether more came with it than belongs to it."""
    displaced: bool = False
    """Whether what came more begins like an answer: then this one may have been that of the request before."""


type AnswerEvent = Interim | Final | bytes | End


class AnswerReader:
    """Reads the answer to one request, and not a byte more."""

    def __init__(self, method: str) -> None:
        """`method`: of the request, which decides whether the answer has content."""
        self._method = method
        self._buffer = bytearray()
        self._searched = 0
        self._interim = 0
        self._frame: ContentFrame | None = None
        self._left = 0
        """Of the content, bytes; counts where the length is known."""
        self._chunks: ChunkedReader | None = None
        self._sound = True
        self.ended = False

    @property
    def in_head(self) -> bool:
        """Whether a part of a head has come."""
        return self._frame is None and bool(self._buffer)

    def feed(self, data: bytes) -> list[AnswerEvent]:
        """Return the events of these bytes. Raises MalformedError; nothing may be fed after that, nor after `End`."""
        events: list[AnswerEvent] = []
        if self._frame is None:
            self._buffer += data
            data = self._read_heads(events)
        if self._frame is not None and not self.ended:
            self._read_content(data, self._frame, events)
        return events

    def feed_eof(self) -> list[AnswerEvent]:
        """Return the events of the end of the connection. Raises MalformedError if it comes too early."""
        if self._frame is not None and self._frame.length is None and not self._frame.chunked:
            self.ended = True
            return [End(reusable=False, surplus=False)]
        raise MalformedError("the origin closed the connection early")

    def _read_heads(self, events: list[AnswerEvent]) -> bytes:
        """Read up to the final head; what follows it is returned."""
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
            self._sound = self._sound and sound and not _misnames(head.fields)
            if head.status >= 200:
                self._frame = content_frame(self._method, head, minor)
                self._left = self._frame.length or 0
                self._chunks = ChunkedReader() if self._frame.chunked else None
                events.append(Final(framed_head(head), self._frame))
                rest = bytes(self._buffer)
                self._buffer.clear()
                return rest
            self._interim += 1
            if head.status == 101 or self._interim > INTERIM_AT_MOST:
                raise MalformedError("an unrequested switch of protocols" if head.status == 101 else "too many 1xx")
            events.append(Interim(head))

    def _read_content(self, data: bytes, frame: ContentFrame, events: list[AnswerEvent]) -> None:
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

    def _end(self, frame: ContentFrame, rest: bytes, events: list[AnswerEvent]) -> None:
        self.ended = True
        displaced = bool(rest) and (rest.startswith(_ANSWER) or _ANSWER.startswith(rest))
        events.append(End(frame.sound and self._sound and not rest, surplus=bool(rest), displaced=displaced))


def _misnames(fields: Fields) -> bool:
    """Whether Connection names a field that frames or steers the answer."""
    return bool(protected_in_response(fields)) or "transfer-encoding" in connection_options(fields)
