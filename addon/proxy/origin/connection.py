"""A connection to an origin. It carries one exchange at a time, and knows which."""

import asyncio
import select
from collections import deque
from collections.abc import AsyncGenerator, Callable

from bestbefore.addon.proxy.exchange.interim import Interim, is_forwarded
from bestbefore.addon.proxy.limits import TimeLimits
from bestbefore.addon.proxy.origin import reader
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.framing import MalformedError
from bestbefore.addon.proxy.origin.reader import AnswerReader, Final
from bestbefore.addon.proxy.origin.upload import Upload, UploadError

HELD_BYTES = 256 * 1024
"""How much content may wait to be taken before the origin is read no further."""
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class OriginConnection(asyncio.Protocol):
    """The connection's own state. What arrives while no exchange is outstanding ends it."""

    def __init__(self, *, tls: bool) -> None:
        self.urls: list[str] = []
        """What was asked for on it, in order."""
        self.peer = ""
        """The address at its other end."""
        self.quiet_since_s = 0.0
        """The event loop's time at which the last exchange was over."""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.had_surplus = False
        """Whether anything came that belongs to no exchange."""
        self.was_displaced = False
        """Whether that may have been the answer to the last request, which then got another."""
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._ended = False
        self._writable = asyncio.Event()
        self._writable.set()

    # asyncio's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands; also called with another transport once there is TLS on it."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peername = transport.get_extra_info("peername")
        self.peer = peername[0] if peername else ""

    def data_received(self, data: bytes) -> None:
        """Give data to the exchange that is outstanding; without one, end the connection."""
        if self._exchange is None:
            self.had_surplus = self.was_displaced = True
            self.abort()
        else:
            self._exchange.receive(data)

    def eof_received(self) -> None:
        """Note that the origin sends no more. Over TLS this means that it said so itself."""
        self._ended = True
        if self._exchange is not None:
            self._exchange.receive_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        if self._exchange is not None:
            if exc is None and not self._tls:
                self._exchange.receive_eof()
            else:
                self._exchange.fail(OriginError(Failure.RESET, "the origin closed the connection early"))
        self._writable.set()
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """The origin does not take what is sent."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume after the transport has drained."""
        self._writable.set()

    # What an exchange does.

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, available after `connection_made`."""
        assert self._transport is not None
        return self._transport

    @property
    def is_open(self) -> bool:
        """Whether another exchange may begin on it."""
        return self._transport is not None and not self._transport.is_closing() and not self._ended

    def is_silent(self) -> bool:
        """Whether nothing waits in its socket: read or not, it would belong to no exchange."""
        found = None if self._transport is None else self._transport.get_extra_info("socket")
        if found is None or found.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(found.fileno(), _READABLE)
        return not poll.poll(0)

    def begin(self, exchange: "Exchange") -> None:
        """Begin an exchange: what comes from now on belongs to it."""
        if self._exchange is not None:
            raise RuntimeError("a connection carries one exchange at a time")
        self._exchange = exchange

    def finish(self, *, reusable: bool, surplus: bool, displaced: bool) -> None:
        """The exchange is over."""
        self._exchange = None
        self.had_surplus = self.had_surplus or surplus
        self.was_displaced = self.was_displaced or displaced
        if reusable and self.is_open:
            self.read(on=True)
            self.quiet_since_s = asyncio.get_running_loop().time()
        else:
            self.abort()

    def write(self, data: bytes) -> None:
        """Send data, without waiting."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drained(self) -> None:
        """Wait until the origin has taken most of what was sent."""
        await self._writable.wait()

    def read(self, *, on: bool) -> None:
        """Read from the origin, or leave what comes in the socket."""
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if on else self._transport.pause_reading)()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()


class Exchange:
    """A request and its answer on one connection."""

    def __init__(
        self,
        connection: OriginConnection,
        method: str,
        limits: TimeLimits,
        interim: Interim,
        released: Callable[[], object],
    ) -> None:
        """`released` is called when the connection may carry another exchange."""
        self._connection = connection
        self._released = released
        self._limits = limits
        self._interim = interim
        self._reader = AnswerReader(method)
        self._final: asyncio.Future[Final] = asyncio.get_running_loop().create_future()
        self._pieces: deque[bytes] = deque()
        self.held_bytes = 0
        """Content that has come and was not taken yet."""
        self._moved = asyncio.Event()
        self._error: OriginError | None = None
        self._over = False
        self._deadline: asyncio.Timeout | None = None
        self._upload: Upload | None = None
        self._sending: asyncio.Task[None] | None = None
        self._is_sent = False
        """Whether all content of the request was sent."""
        self._in_head = False
        self.was_answered = False
        """Whether anything has come."""

    async def run(self, head: bytes, upload: Upload | None) -> Final:
        """Send the request and wait for the final head. Raises OriginError; the connection is closed then."""
        self._connection.begin(self)
        if not self._connection.is_open:
            self.close()
            raise OriginError(Failure.RESET, "the origin closed the connection early")
        self._connection.write(head)
        try:
            async with asyncio.timeout(self._limits.read_s) as self._deadline:
                if upload is not None:
                    self._upload = upload
                    self._sending = asyncio.create_task(self._send(upload))
                return await self._final
        except TimeoutError:
            self.close()
            raise OriginError(Failure.TIMEOUT, "the origin did not answer in time") from None
        except BaseException:
            self.close()
            raise
        finally:
            self._deadline = None

    def _wait_on(self, for_s: float) -> None:
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time() + for_s)

    async def _send(self, upload: Upload) -> None:
        try:
            async for piece in upload.chunks(self._limits.read_s):
                self._connection.write(piece if upload.length is not None else b"%x\r\n%b\r\n" % (len(piece), piece))
                await self._connection.drained()
                if not self._reader.in_head:
                    self._wait_on(self._limits.read_s)
            if upload.length is None:
                self._connection.write(b"0\r\n\r\n")
            self._is_sent = True
            await upload.broken_off()  # a client that leaves before the answer ends the contact: it was for it alone
        except UploadError as error:
            self.fail(OriginError(Failure.UPLOAD, str(error)))

    async def chunks(self, silence_s: float) -> AsyncGenerator[bytes]:
        """The content as it comes. Raises OriginError if it is cut short, or nothing comes for `silence_s`."""
        try:
            while True:
                if self._pieces:
                    piece = self._pieces.popleft()
                    self.held_bytes -= len(piece)
                    if not self._over and self.held_bytes <= HELD_BYTES:
                        self._connection.read(on=True)
                    yield piece
                elif self._error is not None:
                    raise self._error
                elif self._over:
                    return
                else:
                    self._moved.clear()
                    try:
                        async with asyncio.timeout(silence_s):
                            await self._moved.wait()
                    except TimeoutError:
                        raise OriginError(Failure.TIMEOUT, "the origin stopped in mid-answer") from None
        finally:
            self.close()

    def close(self) -> None:
        """Give the connection back. Before the end of the answer, that closes it."""
        if not self._over:
            self._end(reusable=False, surplus=False)

    # What the connection brings.

    def receive(self, data: bytes) -> None:
        """Receive more of the answer."""
        self.was_answered = True
        try:
            for event in self._reader.feed(data):
                self._take(event)
        except MalformedError as error:
            self.fail(OriginError(Failure.MALFORMED, f"the origin's answer could not be read: {error}"))
            return
        if not self._over:
            if not (self._in_head and self._reader.in_head):  # a head that drips gains no time
                self._in_head = self._reader.in_head
                self._wait_on(self._limits.head_s if self._in_head else self._limits.read_s)
            if self.held_bytes > HELD_BYTES:
                self._connection.read(on=False)

    def _take(self, event: reader.AnswerEvent) -> None:
        match event:
            case reader.Interim(head):
                if is_forwarded(head.status):
                    self._interim(head)
            case reader.Final():
                if not self._final.done():
                    self._final.set_result(event)
            case bytes():
                self._pieces.append(event)
                self.held_bytes += len(event)
                self._moved.set()
            case reader.End(reusable, surplus, displaced):
                self._end(reusable=reusable, surplus=surplus, displaced=displaced)

    def receive_eof(self) -> None:
        """The origin has closed the connection, which may be the end of the content."""
        if self._over:
            return
        try:
            for event in self._reader.feed_eof():
                self._take(event)
        except MalformedError as error:
            self.fail(OriginError(Failure.RESET, str(error)))

    def fail(self, error: OriginError) -> None:
        """Fail: there is no answer, or no more of it."""
        if self._over:
            return
        self._error = error
        if not self._final.done():
            self._final.set_exception(error)
        self._end(reusable=False, surplus=False)

    def _end(self, *, reusable: bool, surplus: bool, displaced: bool = False) -> None:
        self._over = True
        self._moved.set()
        if self._upload is not None:
            # An answer that comes before the request is complete is the last on its connection (RFC 9112 9.3).
            reusable = reusable and self._is_sent
            self._upload.drop()
        if self._sending is not None:
            self._sending.cancel()
        self._connection.finish(reusable=reusable, surplus=surplus, displaced=displaced)
        if self._connection.is_open:
            self._released()


