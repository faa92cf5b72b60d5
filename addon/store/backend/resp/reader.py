"""The parser of replies, without I/O (RESP2: https://redis.io/docs/latest/develop/reference/protocol-spec/)."""

from typing import Any

from redis.exceptions import InvalidResponse, ResponseError


class ReplyReader:
    """Parses replies, which may arrive in pieces. An error that is a reply is an exception, which is not raised."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed = 0
        """The size of the buffer below which the next reply cannot be complete, bytes."""
        self._at = 0

    def feed(self, data: bytes) -> list[Any]:
        """Return the replies that these bytes complete. Raises InvalidResponse; nothing may be fed after that."""
        buffer = self._buffer
        buffer += data
        replies: list[Any] = []
        if len(buffer) < self._needed:
            return replies
        self._at = self._needed = done = 0
        try:
            while done < len(buffer):
                replies.append(self._reply())
                done = self._at
        except _IncompleteError as error:
            # A reply of several parts is parsed again from its beginning, but not before its next part can be there.
            self._needed = error.needed - done
        except ValueError as error:
            raise InvalidResponse(f"an unreadable number: {error}") from None
        del buffer[:done]
        return replies

    def _reply(self) -> Any:
        buffer, at = self._buffer, self._at
        end = buffer.find(b"\r\n", at)
        if end < 0:
            raise _IncompleteError(len(buffer) + 1)
        self._at = end + 2
        kind = buffer[at]
        if kind == 36:  # "$", a string
            size = int(buffer[at + 1 : end])
            if size < 0:
                return None
            until = end + 2 + size
            if len(buffer) < until + 2:
                raise _IncompleteError(until + 2)
            self._at = until + 2
            return bytes(memoryview(buffer)[end + 2 : until])
        if kind == 58:  # ":", a number
            return int(buffer[at + 1 : end])
        if kind == 42:  # "*", an array
            size = int(buffer[at + 1 : end])
            return None if size < 0 else [self._reply() for _ in range(size)]
        if kind == 43:  # "+", a status
            return bytes(buffer[at + 1 : end])
        if kind == 45:  # "-", an error
            return ResponseError(buffer[at + 1 : end].decode("utf-8", "replace").removeprefix("ERR "))
        raise InvalidResponse(f"a reply that begins with {bytes(buffer[at : at + 1])!r}")


class _IncompleteError(Exception):
    """A part of a reply is missing."""

    def __init__(self, needed: int) -> None:
        """`needed`: how long the buffer must be at least for the reply to be complete, bytes."""
        super().__init__(needed)
        self.needed = needed
