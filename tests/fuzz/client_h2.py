"""An HTTP/2 client inside a tunnel, that sends what it is given and reads what comes."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import frames
from answers_read import Got
from client_h1 import PATIENCE_S, Connection
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from requests_h2 import Stream


@dataclass(slots=True)
class Streams:
    """What came on a connection, by stream."""

    got: dict[int, Got] = field(default_factory=dict)
    reset: set[int] = field(default_factory=set)
    malformed: str = ""
    closed: bool = False
    silent: bool = False
    """Whether an answer did not come in time."""
    sent: int = 0
    """How many streams were begun."""
    received: bytearray = field(default_factory=bytearray)
    """All that was said, decoded, for those who look for names."""


async def play_streams(made: Sequence[Stream], transport: asyncio.Transport, connection: Connection) -> Streams:
    """Send all streams, in one write or several, and read until each is answered or the connection ends."""
    encoder, out = Encoder(), Streams()
    reader, waited = _Reader(transport, out), set[int]()
    at_once = made[0].case % 3 == 0
    transport.write(frames.opening())
    for position, stream in enumerate(made):
        number = 2 * position + 1
        if connection.closed or out.closed or out.malformed or out.silent:
            break
        transport.write(stream.wire(number, encoder))
        out.sent = position + 1
        if stream.ends and not _given_up(stream):
            waited.add(number)
        if not at_once:
            await _answered(waited, reader, connection, out)
    await _answered(waited, reader, connection, out)
    out.closed = out.closed or connection.closed
    with contextlib.suppress(OSError):
        transport.abort()
    return out


async def _answered(waited: set[int], reader: "_Reader", connection: Connection, out: Streams) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        reader.read(connection.received)
        if connection.closed or out.malformed or out.closed:
            return
        if all(n in out.reset or (n in out.got and out.got[n].complete) for n in waited):
            return
        patience_s = end - asyncio.get_running_loop().time()
        if patience_s <= 0 or not await connection.moved(patience_s):
            out.silent = True
            return


def _given_up(stream: Stream) -> bool:
    return any(kind == frames.RST_STREAM for kind, _, _ in stream.after)


class _Reader:
    def __init__(self, transport: asyncio.Transport, out: Streams) -> None:
        self._transport, self._out, self._decoder = transport, out, Decoder()
        self._block = b""
        self._ends = False

    def read(self, received: bytearray) -> None:
        out = self._out
        for kind, flags, stream, payload in frames.frames_in(received):
            if kind == frames.SETTINGS and not flags & frames.ACK:
                self._write(frames.frame(frames.SETTINGS, frames.ACK, 0))
            elif kind == frames.PING and not flags & frames.ACK:
                self._write(frames.frame(frames.PING, frames.ACK, 0, payload))
            elif kind == frames.GOAWAY:
                out.closed = True
            elif kind == frames.RST_STREAM:
                out.reset.add(stream)
            elif kind in (frames.HEADERS, frames.CONTINUATION):
                if kind == frames.HEADERS:
                    self._block, self._ends = b"", bool(flags & frames.END_STREAM)
                self._block += payload
                if flags & frames.END_HEADERS:
                    self._head(stream)
            elif kind == frames.DATA:
                self._data(stream, flags, payload)

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _head(self, stream: int) -> None:
        out = self._out
        try:
            lines = [(bytes(name), bytes(value)) for name, value in self._decoder.decode(self._block, raw=True)]
        except HPACKError as error:
            out.malformed = f"hpack: {error}"
            return
        out.received += b"".join(name + b": " + value + b"\n" for name, value in lines)
        if stream in out.got and out.got[stream].status >= 200:
            out.got[stream].complete = self._ends  # trailers
            return
        told = dict(lines).get(b":status", b"")
        if not told.isdigit() or any(b"\r" in value or b"\n" in value or name.lower() != name for name, value in lines):
            out.malformed = "fields"
            return
        out.got[stream] = Got(int(told), lines, complete=self._ends)

    def _data(self, stream: int, flags: int, payload: bytes) -> None:
        out = self._out
        out.received += payload
        if stream not in out.got:
            out.malformed = "data without a head"
            return
        out.got[stream].content += payload
        if flags & frames.END_STREAM:
            out.got[stream].complete = True
        if payload:
            self._write(frames.frame(frames.WINDOW_UPDATE, 0, 0, len(payload).to_bytes(4, "big")))
