"""A connection to an origin, which carries one exchange at a time."""

import asyncio
import select
from collections import deque
from collections.abc import AsyncGenerator, Callable

from bestbefore.addon.proxy.exchange.interim import Interim, is_forwarded
from bestbefore.addon.proxy.limits import TimeLimits
from bestbefore.addon.proxy.origin import reader
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.proxy.origin.framing import MalformedError
from bestbefore.addon.proxy.origin.reader import Final, ResponseReader
from bestbefore.addon.proxy.origin.upload import Upload, UploadError

MAX_BUFFERED_BYTES = 256 * 1024
"""How much content may be buffered before reading from the origin is paused."""
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class OriginConnection(asyncio.Protocol):
    """A connection. Data that arrives while there is no exchange closes it."""

    def __init__(self, *, tls: bool) -> None:
        self.urls: list[str] = []
        """The URLs requested on it, in order."""
        self.peer = ""
        """The address at its other end."""
        self.idle_since_s = 0.0
        """When the last exchange ended, in the event loop's time."""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.had_unexpected_data = False
        """Whether data came that belongs to no exchange."""
        self.was_displaced = False
        """Whether that data may be the response to the last request, which then got the response to another."""
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._writable = asyncio.Event()
        self._writable.set()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the transport; called again with another transport once TLS is set up."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peername = transport.get_extra_info("peername")
        self.peer = peername[0] if peername else ""

    def data_received(self, data: bytes) -> None:
        """Pass data to the current exchange; close the connection if there is none."""
        if self._exchange is None:
            self.had_unexpected_data = self.was_displaced = True
            self.abort()
        else:
            self._exchange.receive(data)

    def eof_received(self) -> None:
        """Handle the end of the origin's data. With TLS, the origin has sent close_notify."""
        self._ended = True
        if self._exchange is not None:
            self._exchange.receive_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the current exchange, and mark the connection as closed."""
        if self._timer is not None:
            self._timer.cancel()
        if self._exchange is not None:
            if exc is None and not self._tls:
                self._exchange.receive_eof()
            else:
                self._exchange.fail(OriginError(Failure.RESET, "the origin closed the connection early"))
        self._writable.set()
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """Pause: the origin does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._writable.set()

    # Called by an exchange.

    @property
    def transport(self) -> asyncio.Transport:
        """The transport, available after `connection_made`."""
        assert self._transport is not None
        return self._transport

    @property
    def is_open(self) -> bool:
        """Whether another exchange may begin."""
        return self._transport is not None and not self._transport.is_closing() and not self._ended

    def is_silent(self) -> bool:
        """Whether there is no data in its socket, which would belong to no exchange."""
        found = None if self._transport is None else self._transport.get_extra_info("socket")
        if found is None or found.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(found.fileno(), _READABLE)
        return not poll.poll(0)

    def begin(self, exchange: "Exchange") -> None:
        """Begin an exchange, to which all further data belongs."""
        if self._exchange is not None:
            raise RuntimeError("a connection carries one exchange at a time")
        self._exchange = exchange

    def watch(self, due_s: float) -> None:
        """Have the exchange look at its time limit at this moment of the event loop's time, or before.

        The timer of an earlier exchange serves the next ones: most end long before their limits.
        """
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due_s, self._look_at_limit)

    def _look_at_limit(self) -> None:
        self._timer = None
        if self._exchange is not None:
            self._exchange.look_at_limit()

    def finish(self, *, reusable: bool, unexpected_data: bool, displaced: bool) -> None:
        """End the exchange."""
        self._exchange = None
        self.had_unexpected_data = self.had_unexpected_data or unexpected_data
        self.was_displaced = self.was_displaced or displaced
        if reusable and self.is_open:
            self.read(on=True)
            self.idle_since_s = asyncio.get_running_loop().time()
        else:
            self.abort()

    def write(self, data: bytes) -> None:
        """Send data, without waiting."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drained(self) -> None:
        """Wait until the origin has read most of what was sent."""
        await self._writable.wait()

    def read(self, *, on: bool) -> None:
        """Resume or pause reading from the origin."""
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if on else self._transport.pause_reading)()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()


class Exchange:
    """A request and its response on a connection."""

    def __init__(
        self,
        connection: OriginConnection,
        method: str,
        limits: TimeLimits,
        interim: Interim,
        released: Callable[[], object],
    ) -> None:
        """`released` is called when the connection can carry another exchange."""
        self._connection = connection
        self._released = released
        self._limits = limits
        self._interim = interim
        self._reader = ResponseReader(method)
        self._final: asyncio.Future[Final] = asyncio.get_running_loop().create_future()
        self._pieces: deque[bytes] = deque()
        self.buffered_bytes = 0
        """Content that was received but not consumed yet."""
        self._activity = asyncio.Event()
        self._error: OriginError | None = None
        self._over = False
        self._due_s: float | None = None
        """By when the final head, or more of it, must come, in the event loop's time; None: it is not waited for."""
        self._upload: Upload | None = None
        self._sending: asyncio.Task[None] | None = None
        self._is_sent = False
        """Whether all content of the request was sent."""
        self._in_head = False
        self.was_answered = False
        """Whether any data was received."""

    async def run(self, head: bytes, upload: Upload | None) -> Final:
        """Send the request and wait for the final head. Raises OriginError and then closes the connection."""
        self._connection.begin(self)
        if not self._connection.is_open:
            self.close()
            raise OriginError(Failure.RESET, "the origin closed the connection early")
        self._connection.write(head)
        self._due_s = 0.0
        self._wait_on(self._limits.read_s)
        try:
            if upload is not None:
                self._upload = upload
                self._sending = asyncio.create_task(self._send(upload))
            return await self._final
        except BaseException:
            self.close()
            raise
        finally:
            self._due_s = None

    def _wait_on(self, for_s: float) -> None:
        if self._due_s is not None:
            self._due_s = asyncio.get_running_loop().time() + for_s
            self._connection.watch(self._due_s)

    def look_at_limit(self) -> None:
        """Fail if nothing came in time."""
        if self._due_s is None or self._over:
            return
        if asyncio.get_running_loop().time() >= self._due_s:
            self.fail(OriginError(Failure.TIMEOUT, "the origin did not answer in time"))
        else:
            self._connection.watch(self._due_s)

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
            await upload.wait_for_failure()  # end the contact if the client disconnects before the response
        except UploadError as error:
            self.fail(OriginError(Failure.UPLOAD, str(error)))

    async def chunks(self, silence_s: float) -> AsyncGenerator[bytes]:
        """Yield the content as it arrives. Raises OriginError if it is truncated, or nothing comes for `silence_s`."""
        try:
            while True:
                if self._pieces:
                    piece = self._pieces.popleft()
                    self.buffered_bytes -= len(piece)
                    if not self._over and self.buffered_bytes <= MAX_BUFFERED_BYTES:
                        self._connection.read(on=True)
                    yield piece
                elif self._error is not None:
                    raise self._error
                elif self._over:
                    return
                else:
                    self._activity.clear()
                    try:
                        async with asyncio.timeout(silence_s):
                            await self._activity.wait()
                    except TimeoutError:
                        raise OriginError(Failure.TIMEOUT, "the origin stopped in mid-answer") from None
        finally:
            self.close()

    def has_arrived(self) -> bool:
        """Whether the response has arrived to its end."""
        return self._over and self._error is None

    def close(self) -> None:
        """Release the connection; close it if the response is not complete."""
        if not self._over:
            self._end(reusable=False, unexpected_data=False)

    # Called by the connection.

    def receive(self, data: bytes) -> None:
        """Process data of the response."""
        self.was_answered = True
        try:
            for event in self._reader.feed(data):
                self._take(event)
        except MalformedError as error:
            self.fail(OriginError(Failure.MALFORMED, f"the origin's answer could not be read: {error}"))
            return
        if not self._over:
            if not (self._in_head and self._reader.in_head):  # the time limit of a head is not extended
                self._in_head = self._reader.in_head
                self._wait_on(self._limits.head_s if self._in_head else self._limits.read_s)
            if self.buffered_bytes > MAX_BUFFERED_BYTES:
                self._connection.read(on=False)

    def _take(self, event: reader.ResponseEvent) -> None:
        match event:
            case reader.Interim(head):
                if is_forwarded(head.status):
                    self._interim(head)
            case reader.Final():
                if not self._final.done():
                    self._final.set_result(event)
            case bytes():
                self._pieces.append(event)
                self.buffered_bytes += len(event)
                self._activity.set()
            case reader.End(reusable, unexpected_data, displaced):
                self._end(reusable=reusable, unexpected_data=unexpected_data, displaced=displaced)

    def receive_eof(self) -> None:
        """Handle the end of the connection, which may be the end of the content."""
        if self._over:
            return
        try:
            for event in self._reader.feed_eof():
                self._take(event)
        except MalformedError as error:
            self.fail(OriginError(Failure.RESET, str(error)))

    def fail(self, error: OriginError) -> None:
        """End the exchange with an error."""
        if self._over:
            return
        self._error = error
        if not self._final.done():
            self._final.set_exception(error)
        self._end(reusable=False, unexpected_data=False)

    def _end(self, *, reusable: bool, unexpected_data: bool, displaced: bool = False) -> None:
        self._over = True
        self._activity.set()
        if self._upload is not None:
            # After a response that precedes the end of the request, the connection cannot be reused (RFC 9112 9.3).
            reusable = reusable and self._is_sent
            self._upload.drop()
        if self._sending is not None:
            self._sending.cancel()
        self._connection.finish(reusable=reusable, unexpected_data=unexpected_data, displaced=displaced)
        if self._connection.is_open:
            self._released()


