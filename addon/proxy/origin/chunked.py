"""A strict parser of chunked content (RFC 9112 7.1)."""

import re

from bestbefore.addon.proxy.origin.framing import FIELD_LINE, HEAD_LIMIT_BYTES, MalformedError

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})([ \t]*)(?:;[\t\x20-\x7e\x80-\xff]*)?")
"""Longer sizes are refused: other parsers use signed numbers of 64 bits."""
LINE_LIMIT_BYTES = 4096
"""The longest line before a chunk, including its extensions."""
_CRLF = b"\r\n"


class ChunkedReader:
    """Decodes chunked content. Chunk extensions and trailer fields are discarded (RFC 9112 7.1.1, 7.1.2)."""

    def __init__(self, *, padded: bool = True) -> None:
        """`padded`: whether white space may follow a size, as some servers write it."""
        self._padded = padded
        self.done = False
        """Whether the last chunk and the trailer fields were read."""
        self._buffer = bytearray()
        self._left = 0
        """How many bytes of the current chunk are missing."""
        self._in_chunk = False
        self._in_trailer = False
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Return the content in these bytes. Data after the last chunk is kept in `rest`. Raises MalformedError."""
        self._buffer += data
        content: list[bytes] = []
        while not self.done and self._step(content):
            pass
        return content

    @property
    def rest(self) -> bytes:
        """Return the data that followed the end."""
        return bytes(self._buffer) if self.done else b""

    def _step(self, content: list[bytes]) -> bool:
        """Read one more element; False if more bytes are needed."""
        if self._left:
            piece = bytes(self._buffer[: self._left])
            del self._buffer[: len(piece)]
            self._left -= len(piece)
            if piece:
                content.append(piece)
            return bool(piece)
        if self._in_chunk:  # its content is complete: read the CRLF after it
            if len(self._buffer) < len(_CRLF):
                return False
            if self._buffer[:2] != _CRLF:
                raise MalformedError("a chunk is longer than it says")
            del self._buffer[:2]
            self._in_chunk = False
            return True
        line = self._line()
        if line is None:
            return False
        if self._in_trailer:
            if line and not FIELD_LINE.fullmatch(line):
                raise MalformedError("a trailer line is not a field")
            self.done = not line
            return True
        size = _SIZE_LINE.fullmatch(line)
        if size is None or (size[2] and not self._padded):
            raise MalformedError("the size of a chunk is not a number")
        self._left = int(size[1], 16)
        self._in_chunk, self._in_trailer = self._left > 0, self._left == 0
        return True

    def _line(self) -> bytes | None:
        end = self._buffer.find(_CRLF)
        limit = HEAD_LIMIT_BYTES - self._trailer_bytes if self._in_trailer else LINE_LIMIT_BYTES
        if (end if end >= 0 else len(self._buffer)) > limit:
            raise MalformedError("a line between chunks is too long")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        if b"\n" in line or b"\r" in line:
            raise MalformedError("a line between chunks does not end with CRLF")
        if self._in_trailer:
            self._trailer_bytes += len(line) + 2
        return line
