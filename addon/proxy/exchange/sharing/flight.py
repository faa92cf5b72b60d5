"""A shared fetch: one contact for several requests, and its content for all of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass

from bestbefore.addon.engine.sharing import Credentials, credentials, patience_s
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import Content
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.caching.vary import Values
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

SHARING_PATIENCE_S = 10.0
"""How long a joined request waits for content of unknown length before it contacts the origin itself; real seconds."""


class Spool:
    """A spool of arriving content for several readers, each at its own speed.

    Up to `limit` bytes are kept, if the budget allows, so that a slow reader blocks no other and a late one reads from
    the start. Beyond the limit the writer waits for the present readers, and no other can join.
    """

    def __init__(self, limit: int, budget: Budget | None = None) -> None:
        self._limit = limit
        self._content: Content | None = Content(Budget() if budget is None else budget)
        self._overflow = b""
        """A piece for which there was no room; the writer waits until all readers have read it."""
        self.size = 0
        """How many bytes have been added."""
        self._published_bytes = 0
        """Readers may read up to this offset."""
        self.is_too_large = False
        """Whether the content exceeds the limit or the budget."""
        self._ended = False
        self._error: OriginError | None = None
        self._positions: dict[object, int] = {}
        self._candidates = 0
        """How many requests may join once the content is complete."""
        self._on_end: list[Callable[[], object]] = []
        self._changed = asyncio.Event()

    @property
    def is_whole(self) -> bool:
        """Whether a reader that joins now can read the whole content."""
        return self._content is not None

    @property
    def has_readers(self) -> bool:
        """Whether a reader has joined and not left, or may join."""
        return bool(self._positions) or bool(self._candidates)

    @property
    def body(self) -> bytes | UnlinkedFile | None:
        """Return the content received so far, without copying it; None if there was no room for it."""
        return None if self._content is None or self.is_too_large else self._content.body()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def add(self, chunk: bytes) -> None:
        """Add a piece, which readers get after `publish`."""
        content = None if self.size + len(chunk) > self._limit or self.is_too_large else self._content
        if content is None or not await content.add(chunk):
            self.is_too_large, self._overflow = True, chunk
        self.size += len(chunk)

    async def publish(self) -> bool:
        """Let readers read the added pieces. False if there is neither room nor a reader: reading on is useless."""
        self._published_bytes = self.size
        self._notify()
        if not self.is_too_large:
            return True
        while any(position < self.size for position in self._positions.values()):
            await self._changed.wait()
        self._content, self._overflow = None, b""
        return bool(self._positions)

    async def is_collected(self, patience_s: float | None = None) -> bool:
        """Wait until the content is complete; False if it is too large, or takes longer than `patience_s`."""
        self._candidates += 1
        try:
            async with asyncio.timeout(patience_s):
                while not self._ended and not self.is_too_large:
                    await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._candidates -= 1
        return self._ended and self.is_whole

    def raise_error(self) -> None:
        """Raise the writer's OriginError, if it has failed."""
        if self._error is not None:
            raise self._error

    def end(self, error: OriginError | None = None) -> None:
        """End the content; with an error, it is truncated before the pieces that were not published."""
        self._ended, self._error = True, error
        if error is None:
            self._published_bytes = self.size
        self._notify()
        for call in self._on_end:
            call()
        self._on_end.clear()
        self._release_if_unread()

    def _release_if_unread(self) -> None:
        """Release the content when nothing will read it: other references to this spool may last long."""
        if self._ended and not self._positions and not self._candidates:
            self._content, self._overflow = None, b""

    def on_end(self, call: Callable[[], object]) -> None:
        """Call a function at the end of the content; at once if it has ended."""
        if self._ended:
            call()
        else:
            self._on_end.append(call)

    def join(self) -> object:
        """Return a new reader, for `read`. The writer waits for it until it has read everything or leaves."""
        reader = object()
        self._positions[reader] = 0
        return reader

    async def read(self, reader: object) -> AsyncGenerator[bytes]:
        """Yield all pieces, as they arrive. Raises the writer's OriginError if the content is truncated."""
        try:
            while True:
                at = self._positions[reader]
                if at < self._published_bytes:
                    chunk = await self._piece(at)
                    if reader not in self._positions:
                        return
                    self._positions[reader] = at + len(chunk)
                    self._notify()
                    yield chunk
                elif self._ended:
                    self.raise_error()
                    return
                else:
                    await self._changed.wait()
        finally:
            self.leave(reader)

    async def _piece(self, at: int) -> bytes:
        start = self.size - len(self._overflow)
        if self._overflow and at >= start:
            return self._overflow[at - start :]
        assert self._content is not None
        try:
            chunk = await self._content.read(at)
        except OSError as error:
            raise ConnectionError(f"a temporary file cannot be read: {error.strerror}") from error
        if not chunk:
            raise ConnectionError("a temporary file is shorter than it was")
        return chunk[: self._published_bytes - at]

    def leave(self, reader: object) -> None:
        """Remove a reader. A second call does nothing."""
        self._positions.pop(reader, None)
        self._release_if_unread()
        self._notify()


@dataclass(frozen=True, slots=True)
class StreamingResult:
    """The result that the response may be shared while its content is still arriving."""

    copy: Copy
    spool: Spool
    fits: bool
    """Whether the announced length is within the limit. Else the writer may have to wait for the slowest reader."""

    async def can_be_joined(self) -> bool:
        """Whether another reader may join: at once if the content fits, else if it is complete soon."""
        return self.spool.is_whole if self.fits else await self.spool.is_collected(SHARING_PATIENCE_S)


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The result that a copy can answer: it was confirmed, or has arrived completely."""

    copy: Copy
    body: Body


@dataclass(frozen=True, slots=True)
class FailedResult:
    """The result that the contact failed."""

    error: OriginError


@dataclass(frozen=True, slots=True)
class AbandonedResult:
    """The result that there was no response, as the contact was cancelled: a joined request begins another."""


type FlightResult = StreamingResult | CopyResult | FailedResult | AbandonedResult | None
"""The result of a flight for the requests that joined it; None: each must contact the origin itself."""


class Flight:
    """A contact in progress, which other requests can join."""

    def __init__(self) -> None:
        self._result: asyncio.Future[FlightResult] = asyncio.get_running_loop().create_future()
        self._waiting = 0
        """How many requests have waited for the result."""

    def set_result(self, result: FlightResult) -> None:
        """Set the result for all joined requests; only the first call counts."""
        if not self._result.done():
            self._result.set_result(result)

    async def result(self) -> FlightResult:
        """Wait for the result; None if that takes too long. Cancelling one waiter does not affect the others."""
        if not self._result.done():
            self._waiting += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s(self._waiting)):
                    return await asyncio.shield(self._result)
        return self._result.result() if self._result.done() else None

    @property
    def is_abandoned(self) -> bool:
        """Whether the contact has ended without a response."""
        return self._result.done() and isinstance(self._result.result(), AbandonedResult)


class Flights:
    """The contacts in progress that can be joined, by partition and URL, variant and credentials."""

    def __init__(self) -> None:
        self._flights: dict[tuple[str, str], dict[tuple[Values, Credentials], Flight]] = {}

    def of(self, request: Request, variant: Values) -> Flight | None:
        """Return the contact that this request may join; None if there is none."""
        return self._flights.get(_key(request), {}).get((variant, credentials(request)))

    def is_in_progress(self, request: Request) -> bool:
        """Whether there is a contact for the object, also one that this request may not join."""
        return _key(request) in self._flights

    def begin(self, request: Request, variant: Values) -> Flight:
        """Register a new contact."""
        flight = Flight()
        self._flights.setdefault(_key(request), {})[variant, credentials(request)] = flight
        return flight

    def end(self, request: Request, variant: Values) -> None:
        """Remove a contact, which can be joined no longer."""
        key = _key(request)
        del self._flights[key][variant, credentials(request)]
        if not self._flights[key]:
            del self._flights[key]


def _key(request: Request) -> tuple[str, str]:
    return request.partition, request.target.url
