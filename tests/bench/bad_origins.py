"""Origins for endurance runs: one that behaves, and several that do not, each on a port of its own."""

import asyncio
import itertools
import socket
import struct
from collections.abc import Awaitable, Callable

BODY = b"x" * 10_000
MALFORMED = (
    b"garbage\r\n\r\n",
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\nETag: \"1\"\r\n\r\ncut short",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: max-age=9\r\n\r\nand a surplus",
)
"""What an origin may send instead of an answer, and close."""

type Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def behaving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers: /fresh... lives an hour, /short... a second and is current when asked, others are not stored."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        path = head.split(b" ", 2)[1]
        lives = {b"/fresh": b"max-age=3600", b"/short": b"max-age=1"}.get(path.split(b"?")[0], b"no-store")
        fields = b'ETag: "1"\r\nCache-Control: ' + lives
        if b'If-None-Match: "1"' in head:
            writer.write(b"HTTP/1.1 304 Not Modified\r\n" + fields + b"\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % len(BODY) + fields + b"\r\n\r\n" + BODY)
        await writer.drain()


async def resetting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Breaks off within the content, by a reset."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: "1"\r\n\r\n' + BODY)
    await writer.drain()
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def hanging_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Closes without a word."""
    await reader.readuntil(b"\r\n\r\n")


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never answers, and waits until it is left."""
    await reader.read(-1)


def malformed() -> Serve:
    """Sends each of MALFORMED in turn."""
    answers = itertools.cycle(MALFORMED)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(next(answers))
        await writer.drain()

    return serve


async def start(serve: Serve) -> str:
    """Start an origin; its URL."""

    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(quietly, "127.0.0.1", 0)
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def refusing() -> str:
    """The URL of an origin that is not there."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"
