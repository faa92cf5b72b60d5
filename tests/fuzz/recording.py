"""The origin that records: it keeps the bytes of each connection and reads them strictly, request by request."""

import asyncio
import math
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from answers import Answer, answer_for
from names import names_in
from requests_read import Broken, Request, read_request


@dataclass(slots=True, eq=False)
class Record:
    """What one connection to the origin carried."""

    port: int
    data: bytearray = field(default_factory=bytearray)
    read_to: int = 0
    """Where the last complete request ended."""
    ended: bool = False
    broken: str = ""
    """Why what follows could not be read as a request."""
    tells: bool = False
    """Whether an answer on it broke a rule, so that a request may have come again on another."""

    def rest(self) -> bytes:
        return bytes(self.data[self.read_to :])


WITH_SURPLUS = {"with_surplus", "bodiless_with_content"}
TOO_LATE_S = 0.15
"""When this machine is so busy that a surplus would come later than this, the connection ends instead: of an origin
that says something else a quarter of a second later, nobody can tell that it was not asked."""

type Judge = Callable[[Record, Request, Answer], None]


class Recorder:
    """Listens on two ports, the origin's and another's, and answers each request as its names say."""

    def __init__(self, seed: int, mutated_share: float, judge: Judge) -> None:
        self.seed, self.mutated_share, self.judge = seed, mutated_share, judge
        self.answers_early = False
        self.hostile: set[int] = set()
        """Ports on which answers are mutated."""
        self.records: set[Record] = set()
        self.answers: dict[tuple[int, int], Answer] = {}
        """By the names of their URLs. Of several to one URL, whose clients may be judged later: all that it may be."""
        self.servers: list[asyncio.Server] = []
        self.open: set[asyncio.Transport] = set()

    async def listen(self, tls: ssl.SSLContext | None = None) -> int:
        server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self), "127.0.0.1", 0, ssl=tls, backlog=1024
        )
        self.servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def keep(self, case: int, number: int, answer: Answer) -> None:
        earlier = self.answers.get((case, number))
        if earlier is not None:
            known = earlier.contents is not None and answer.contents is not None
            contents = (*(earlier.contents or ()), *(answer.contents or ())) if known else None
            answer = replace(answer, contents=contents, mutation=answer.mutation or earlier.mutation)
        self.answers[case, number] = answer

    def settled(self, judge: object) -> None:
        """All has been told already."""

    def close(self) -> None:
        for server in self.servers:
            server.close()
        for transport in self.open:
            transport.abort()


class _Connection(asyncio.Protocol):
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._transport: asyncio.Transport | None = None
        self._record: Record | None = None
        self._busy = False
        self._continued = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._recorder.open.add(transport)
        self._record = Record(transport.get_extra_info("sockname")[1])
        self._recorder.records.add(self._record)

    def data_received(self, data: bytes) -> None:
        assert self._record is not None
        self._record.data += data
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        assert self._record is not None
        self._record.ended = True
        if self._transport is not None:
            self._recorder.open.discard(self._transport)
        if self._record.read_to >= len(self._record.data):
            self._recorder.records.discard(self._record)

    def _next(self) -> None:
        """Answer the next request, if it is all there and the one before is answered."""
        record, transport = self._record, self._transport
        assert record is not None
        assert transport is not None
        if self._busy or record.broken or record.read_to >= len(record.data):
            return
        read = read_request(record.data, record.read_to)
        if isinstance(read, Broken):
            if not read.incomplete:
                record.broken = read.reason
                transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                transport.close()
            elif (
                read.head is not None
                and b"100-continue" in read.head.values(b"expect")
                and self._continued != record.read_to
            ):
                self._continued = record.read_to
                transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        record.read_to = read.end
        if record.read_to > 100_000 and record.read_to == len(record.data):
            record.data.clear()
            record.read_to = 0
        named = sorted((case, number) for kind, case, number in names_in(read.path) if kind == "u")
        case, number = named[0] if named else (0, 0)
        share = self._recorder.mutated_share if record.port in self._recorder.hostile else 0.0
        answer = answer_for(self._recorder.seed, case, number, read, share)
        if not named:
            answer = Answer([(0.0, b"HTTP/1.1 200 OK\r\nX-Answer: -\r\nContent-Length: 0\r\n\r\n")])
        if read.method == b"CONNECT":
            answer = Answer([(0.0, b"HTTP/1.1 502 no tunnels\r\nContent-Length: 0\r\n\r\n")])
        self._recorder.keep(case, number, answer)
        self._recorder.judge(record, read, answer)
        if answer.mutation:
            record.tells = True
        self._busy = True
        self._write(answer.writes, 0, closes=answer.closes, has_surplus=answer.mutation in WITH_SURPLUS)

    def _write(self, writes: list[tuple[float, bytes]], at: int, *, closes: bool, has_surplus: bool) -> None:
        assert self._transport is not None
        while at < len(writes) and (writes[at][0] == 0.0 or at == 0):
            self._transport.write(writes[at][1])
            at += 1
        if at < len(writes):
            # An answer that is complete lets the next request in: what is late is then a surplus.
            if not closes and at == len(writes) - 1:
                self._busy = False
            loop = asyncio.get_running_loop()
            latest_s = loop.time() + TOO_LATE_S if has_surplus else math.inf
            loop.call_later(writes[at][0], self._later, writes, at, closes, latest_s)
        elif closes:
            self._transport.close()
        else:
            self._busy = False
            self._next()

    def _later(self, writes: list[tuple[float, bytes]], at: int, closes: bool, latest_s: float) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if asyncio.get_running_loop().time() > latest_s:
            self._transport.close()
            return
        self._transport.write(writes[at][1])
        self._write([(0.0, b""), *writes[at + 1 :]], 1, closes=closes, has_surplus=False)
