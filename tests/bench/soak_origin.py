"""The origin of a soak: it knows what it has sent for each URL, when it failed, and how."""

import asyncio
import random
import socket
import struct
import time
from collections import deque

MALFORMED = (
    b"garbage\r\n\r\n",
    b"HTTP/1.1 abc OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
)
"""What it may send instead of an answer, and close."""
BEFORE = ("close", "reset", "500", "503", "silence", "malformed")
"""Failures before any content: a stored copy can answer instead."""
WITHIN = ("cut", "reset within", "stall within", "wrong chunk")
"""Failures within the content, part of which may have been forwarded."""
HARMLESS = ("surplus", "pause")
"""What must not change the answer: data beyond the content, and a pause within it."""
SIZES = {"page": 10_000, "short": 10_000, "flaky": 10_000, "never": 10_000, "new": 1_000, "private": 3_000,
         "large": 500_000, "unstored": 10_000}  # fmt: skip
LIVES = {"page": "max-age=60", "short": "max-age=1", "flaky": "max-age=1", "never": "max-age=60", "new": "max-age=60",
         "private": "private, max-age=60", "large": "max-age=60", "unstored": "no-store"}  # fmt: skip
CHANGES_S = 20.0
"""How often each object changes."""


def content_of(path: str, user: str, version: str) -> bytes:
    """The only content that is right for a version of an object, and for its user if it is private."""
    kind, number = path[1:].split("?")
    line = f"{path} {user if kind == 'private' else ''} {version} ".encode()
    size = SIZES[kind] + 37 * (int(number) % 11)
    return (line * (size // len(line) + 1))[:size]


class SoakOrigin:
    """Serves /KIND?NUMBER; objects change, and fail by their kind."""

    def __init__(self) -> None:
        self._random = random.Random(2)
        self._start_s = time.monotonic()
        self.failed: dict[str, tuple[float, bool]] = {}
        """When each path failed last, and whether that was before any content."""
        self.sent: dict[str, deque[tuple[float, str]]] = {}
        """The last things that were sent for each path that may fail, and when."""
        self.contacts = 0
        self.failures: dict[str, int] = {}

    def version(self, path: str) -> str:
        """The current version of an object."""
        phase_s = hash(path) % 1000 / 1000.0 * CHANGES_S
        return str(int((time.monotonic() - self._start_s + phase_s) / CHANGES_S))

    async def start(self) -> str:
        """Listen; return the URL."""
        server = await asyncio.start_server(self._quietly, "127.0.0.1", 0, backlog=1024)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _quietly(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"), reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _failure(self, path: str) -> str:
        """How this answer fails; empty if it does not."""
        kind, draw = path[1:].split("?")[0], self._random.random()
        if kind == "never" or (kind == "flaky" and draw < 0.3):
            found = self._random.choice(BEFORE + WITHIN)
            self.failed[path] = (time.monotonic(), found in BEFORE)
        elif kind not in ("page", "new") or draw > 0.1:
            return ""
        else:
            found = self._random.choice(HARMLESS)
        self.failures[found] = self.failures.get(found, 0) + 1
        return found

    async def _answer(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; return whether the connection goes on."""
        path = head.split(" ", 2)[1]
        self.contacts += 1
        fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head.split("\r\n")[1:-2]}
        version, failure = self.version(path) + fields.get("x-user", ""), self._failure(path)
        if path.startswith("/flaky"):
            is_current = fields.get("if-none-match") == f'"{version}"'
            note = failure or f"{'304' if is_current else '200'} {version}"
            self.sent.setdefault(path, deque(maxlen=6)).append((time.monotonic(), note))
        common = f'ETag: "{version}"\r\nCache-Control: {LIVES[path[1:].split("?")[0]]}\r\n'.encode()
        if failure in BEFORE:
            await self._fail(failure, reader, writer)
            return False
        if fields.get("if-none-match") == f'"{version}"' and not failure:
            writer.write(b"HTTP/1.1 304 Not Modified\r\n" + common + b"\r\n")
            return True
        content = content_of(path, fields.get("x-user", ""), version)
        half = len(content) // 2
        if path.startswith("/large") or failure == "wrong chunk":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + common + b"\r\n")
            writer.write(b"%x\r\n%b\r\n" % (half, content[:half]))
            await writer.drain()
            if failure:
                writer.write(b"zz\r\nhello\r\n")
                return False
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(content) - half, content[half:]))
            await writer.drain()
            return True
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%b\r\n" % (len(content), common))
        writer.write(content[:half])
        await writer.drain()
        if failure == "pause":
            await asyncio.sleep(0.3)
        if failure in WITHIN:
            if failure == "stall within":
                await reader.read(1)
            if failure == "reset within":
                _reset(writer)
            return False
        writer.write(content[half:] + (b"and a surplus" if failure == "surplus" else b""))
        await writer.drain()
        return failure != "surplus"

    async def _fail(self, failure: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match failure:
            case "reset":
                _reset(writer)
            case "500" | "503":
                writer.write(b"HTTP/1.1 %b Failed\r\nContent-Length: 6\r\n\r\nfailed" % failure.encode())
            case "silence":
                await reader.read(1)
            case "malformed":
                writer.write(self._random.choice(MALFORMED))


def _reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
