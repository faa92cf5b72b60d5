"""Hits over HTTP/2 that are sent again as they were: frames are read and written past the library h2.

h2's state machines and hpack take most of the time of a hit. A block of fields that refers to the decoder's table
without changing it means the same as long as no other block changes the table. So the answer to one is kept, and sent
for the same block again. Its own fields are coded without any table of ours.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hpack import Encoder
from hpack.struct import NeverIndexedHeaderTuple

from bestbefore.addon.proxy.exchange.answer import Repeatable
from bestbefore.addon.proxy.mitm.wire.kept import KeptAnswers, KeptRoom
from bestbefore.addon.proxy.mitm.wire.open_http2 import OpenHttp2
from bestbefore.addon.proxy.mitm.wire.written import Written

type Lines = Sequence[tuple[bytes, bytes]]

DATA, HEADERS, WINDOW_UPDATE = 0, 1, 8
END_STREAM, END_HEADERS = 1, 4
HEAD_BYTES = 9
LONGEST_BITS = 56
"""An integer with more bits is malformed: no block is so long."""
AT_ONCE_BYTES = 256 * 1024
"""How much is sent in one write. Frames behind it in the same data take h2's way."""


@dataclass
class _Response:
    lines: Lines
    body: bytes

    @cached_property
    def block(self) -> bytes:
        """The fields, coded so that no table of fields is changed or needed, but HTTP/2's own."""
        return Encoder().encode([NeverIndexedHeaderTuple(*line) for line in self.lines], huffman=False)


class Http2Hits:
    """Answers requests at the beginning of a connection's data that were answered before, by their blocks."""

    def __init__(self, connection: OpenHttp2, room: KeptRoom) -> None:
        self._connection = connection
        self._kept = KeptAnswers[bytes, _Response](room)
        self._blocks: dict[int, bytes] = {}
        """The blocks that may be kept, by the streams which h2 has read and which are not answered yet."""

    def received(self, stream_id: int, block: bytes, *, is_whole: bool) -> None:
        """Note a block that h2 reads. `is_whole`: it is all of a request."""
        if not leaves_table(block):
            self.forget()
        elif is_whole:
            self._blocks[stream_id] = block

    def forget(self) -> None:
        """Forget what is kept: the table has changed, or the client has sent a request that was not answered here."""
        self._blocks.clear()
        self._kept.forget()

    def keep(self, stream_id: int, repeat: Repeatable | None, lines: Lines, body: bytes) -> None:
        """Keep the answer to the request of a stream, if it may be repeated."""
        block = self._blocks.pop(stream_id, None)
        if block is not None and repeat is not None:
            self._kept.keep(block, repeat, _Response(lines, body), len(body) + sum(len(n) + len(v) for n, v in lines))

    def answer(self, data: bytes) -> Written | None:
        """Answer the requests at the beginning of data that are kept; None if the first frame is something else."""
        connection, frames = self._connection, list[bytes]()
        at = size = 0
        while len(data) - at >= HEAD_BYTES and size < AT_ONCE_BYTES:
            length, kind, flags = int.from_bytes(data[at : at + 3]), data[at + 3], data[at + 4]
            stream_id = int.from_bytes(data[at + 5 : at + HEAD_BYTES])  # with the reserved bit, which is 0
            end = at + HEAD_BYTES + length
            if end > len(data):
                break
            content = data[at + HEAD_BYTES : end]
            if kind == HEADERS and flags == END_STREAM | END_HEADERS:
                kept = self._kept.get(content) if connection.may_open(stream_id) else None
                if kept is None:
                    break
                repeat, response = kept
                written = self._frames(stream_id, response)
                if written is None:
                    break
                repeat.finish()
                frames += written
                size += len(response.body)
            elif not (kind == WINDOW_UPDATE and length == 4 and connection.widen(stream_id, int.from_bytes(content))):
                break
            at = end
        return Written(b"".join(frames), at, closes=False, finish=_nothing) if at else None

    def _frames(self, stream_id: int, response: _Response) -> list[bytes] | None:
        """Return the frames of a response, which ends its stream; None if the client cannot receive it now."""
        connection, block, body = self._connection, response.block, response.body
        most = connection.frame_bytes
        if len(block) > most or not connection.send(stream_id, len(body)):
            return None
        flags = END_HEADERS if body else END_HEADERS | END_STREAM
        frames = [_head(len(block), HEADERS, flags, stream_id), block]
        for start in range(0, len(body), most):
            part = body if len(body) <= most else body[start : start + most]
            flags = END_STREAM if start + most >= len(body) else 0
            frames += _head(len(part), DATA, flags, stream_id), part
        return frames


def _head(length: int, kind: int, flags: int, stream_id: int) -> bytes:
    return struct.pack("!HBBBL", length >> 8, length & 0xFF, kind, flags, stream_id)


def _nothing() -> None:
    """Each request is recorded when it is answered."""


def leaves_table(block: bytes) -> bool:
    """Whether a block of fields leaves the decoder's table as it is (RFC 7541 6): it adds nothing, nor sets a size.

    A malformed block may do either, for h2 refuses it.
    """
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:  # indexed
            _, at = _integer(block, at, 7)
        elif first & 0xE0 == 0:  # a literal, without or never indexed
            index, at = _integer(block, at, 4)
            for _ in range(1 if index else 2):
                size, at = _integer(block, at, 7) if at < len(block) else (0, at)
                at += size
        else:
            return False
    return True


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return an integer (RFC 7541 5.1), and where it ends."""
    most = (1 << bits) - 1
    value, at = block[at] & most, at + 1
    if value < most:
        return value, at
    shift = 0
    while at < len(block) and shift < LONGEST_BITS:
        octet, at = block[at], at + 1
        value += (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            break
    return value, at
