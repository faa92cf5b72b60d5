"""HTTP/2 frames, written and read by hand: a library would refuse to send what a hostile client sends."""

import struct
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 1, 1, 4, 8, 32


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def opening(window: int = 1 << 20) -> bytes:
    """What a client sends first: large windows, no pushes."""
    settings = struct.pack(">HIHI", 2, 0, 4, window)
    return PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 24))


def frames_in(received: bytearray) -> Iterator[tuple[int, int, int, bytes]]:
    """The complete frames, which are taken away: kind, flags, stream and payload without padding."""
    while len(received) >= 9:
        length = int.from_bytes(received[:3], "big")
        if len(received) < 9 + length:
            return
        kind, flags = received[3], received[4]
        stream = int.from_bytes(received[5:9], "big") & 0x7FFFFFFF
        payload = bytes(received[9 : 9 + length])
        del received[: 9 + length]
        if kind in (DATA, HEADERS) and flags & PADDED:
            payload = payload[1 : len(payload) - payload[0]]
        if kind == HEADERS and flags & PRIORITISED:
            payload = payload[5:]
        yield kind, flags, stream, payload
