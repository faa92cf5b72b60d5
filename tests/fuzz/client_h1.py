"""An HTTP/1 client that plays a script through the proxy, plainly or inside a tunnel."""

import asyncio
import ssl
from dataclasses import dataclass, field

from answers_read import Got, read_answer
from judge import Reading
from requests_h1 import Script
from requests_read import Broken, Request, read_all

PATIENCE_S = 60.0
"""Longer than an answer takes on the busiest machine."""
REFUSAL_S = 0.15
"""How long an answer to what is no request is waited for. What goes to the origin instead is seen there."""


def reading_of(sent: bytes) -> Reading:
    """What these bytes say to a proxy."""
    requests, broken = read_all(sent)
    if broken is None:
        return Reading(requests, None)
    repaired, _ = read_all(sent, tolerant=True)
    return Reading(requests, broken, repaired[len(requests) :])


@dataclass(slots=True)
class Outcome:
    """What came of a script."""

    got: list[Got] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)
    malformed: str = ""
    closed: bool = False
    """By the proxy."""
    surplus: bytes = b""


class Connection(asyncio.Protocol):
    """Collects what comes."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.closed = False
        self._moved: asyncio.Future[None] | None = None

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)

    async def moved(self, timeout_s: float) -> bool:
        """Wait until anything comes; False if nothing does."""
        if self.closed:
            return True
        loop = asyncio.get_running_loop()
        self._moved = moved = loop.create_future()
        timer = loop.call_later(timeout_s, lambda: moved.done() or moved.cancel())
        try:
            await moved
        except asyncio.CancelledError:
            if not moved.cancelled():
                raise
            return False
        finally:
            timer.cancel()
        return True


async def connect(
    port: int, authority: str = "", tls: ssl.SSLContext | None = None
) -> tuple[asyncio.Transport, Connection]:
    """A connection to the proxy; with `tls`, a tunnel to the authority."""
    loop = asyncio.get_running_loop()
    transport, connection = await loop.create_connection(Connection, "127.0.0.1", port)
    if tls is None:
        return transport, connection
    transport.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    while b"\r\n\r\n" not in connection.received:
        if not await connection.moved(PATIENCE_S) or connection.closed:
            transport.abort()
            raise ConnectionError("no tunnel")
    connection.received.clear()
    secure = await loop.start_tls(transport, connection, tls, server_hostname=authority.partition(":")[0])
    if secure is None:
        raise ConnectionError("no TLS")
    return secure, connection


async def play(script: Script, reading: Reading, transport: asyncio.Transport, connection: Connection) -> Outcome:
    """Send all of a script and read the answers."""
    outcome = Outcome(received=connection.received)
    methods = [request.method for request in (*reading.requests, *reading.repaired)]
    reader = _Reader(outcome, methods)
    for data, pause_s in zip(script.writes, script.pauses_s, strict=True):
        if pause_s:
            await asyncio.sleep(pause_s)
        if connection.closed:
            break
        transport.write(data)
    wanted = len(reading.requests)
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while len(outcome.got) < wanted and not outcome.malformed:
        patience_s = end - asyncio.get_running_loop().time()
        if connection.closed or patience_s <= 0 or not await connection.moved(patience_s):
            break
        reader.read(closed=connection.closed)
    broken = reading.broken
    if broken is not None and not connection.closed and not outcome.malformed:
        end = asyncio.get_running_loop().time() + (0.01 if broken.incomplete else REFUSAL_S)
        while not connection.closed and len(outcome.got) <= wanted:
            patience_s = end - asyncio.get_running_loop().time()
            if patience_s <= 0 or not await connection.moved(patience_s):
                break
            reader.read(closed=connection.closed)
    outcome.closed = connection.closed
    reader.read(closed=connection.closed)
    transport.abort()
    return outcome


class _Reader:
    def __init__(self, outcome: Outcome, methods: list[bytes]) -> None:
        self._outcome, self._methods, self._at = outcome, methods, 0
        self._interim: list[int] = []
        self._done = False

    def read(self, *, closed: bool) -> None:
        outcome = self._outcome
        while not self._done and self._at < len(outcome.received):
            position = len(outcome.got)
            method = self._methods[position] if position < len(self._methods) else b"GET"
            read = read_answer(outcome.received, self._at, method, closed=closed)
            if isinstance(read, Broken):
                if not read.incomplete:
                    outcome.malformed, self._done = read.reason, True
                return
            if not read.complete and not closed:
                return
            self._at = read.end
            if read.status < 200 and read.status != 101:
                self._interim.append(read.status)
                continue
            read.interim, self._interim = self._interim, []
            outcome.got.append(read)
            self._done = read.status == 101 or not read.complete


def asked_for(reading: Reading) -> list[Request]:
    """Those requests that may be answered as such, in their order."""
    return [*reading.requests, *reading.repaired]
