"""A shared fetch: a contact that others wait for, and its content for all of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import Content
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

SHARING_PATIENCE_S = 10.0
"""How long content of unknown length is awaited by those who would share it, before they ask for themselves; real
seconds."""


class Spool:
    """A spool of content as it comes, read by several at their own pace.

    Up to `limit` bytes are held, as far as there is room for them, so that a slow reader blocks no other and late ones
    read from the start. Beyond it the writer waits for the readers that there are, and no other can join.
    """

    def __init__(self, limit: int, budget: Budget | None = None) -> None:
        self._limit = limit
        self._content: Content | None = Content(Budget() if budget is None else budget)
        self._loose = b""
        """The piece that there was no room for: the readers are waited for."""
        self._size = 0
        self._shown = 0
        """So much may be read."""
        self._too_large = False
        self._ended = False
        self._error: OriginError | None = None
        self._positions: dict[object, int] = {}
        self._waiting = 0
        """Those who will perhaps join once all of it is held."""
        self._at_end: list[Callable[[], object]] = []
        self._changed = asyncio.Event()

    @property
    def size(self) -> int:
        """How many bytes have come."""
        return self._size

    @property
    def is_whole(self) -> bool:
        """Whether a reader that begins now reads everything."""
        return self._content is not None

    @property
    def is_too_large(self) -> bool:
        """Whether not all of it is held."""
        return self._too_large

    @property
    def body(self) -> bytes | UnlinkedFile | None:
        """Return all that came, which is not copied again; None if there was no room for it."""
        return None if self._content is None or self._too_large else self._content.body()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def add(self, chunk: bytes) -> None:
        """Add a piece, which is not read before `show`."""
        content = None if self._size + len(chunk) > self._limit or self._too_large else self._content
        if content is None or not await content.add(chunk):
            self._too_large, self._loose = True, chunk
        self._size += len(chunk)

    async def show(self) -> bool:
        """Let what was added be read. False if continuing is of no use: there is no room for it, and no reader."""
        self._shown = self._size
        self._tell()
        if not self._too_large:
            return True
        while any(position < self._size for position in self._positions.values()):
            await self._changed.wait()
        self._content, self._loose = None, b""
        return bool(self._positions)

    async def write(self, chunk: bytes) -> bool:
        """Add a piece and show it."""
        await self.add(chunk)
        return await self.show()

    async def settled(self, patience_s: float | None = None) -> bool:
        """Wait until all of it is held; False if it is too large for that, or takes longer."""
        self._waiting += 1
        try:
            async with asyncio.timeout(patience_s):
                while not self._ended and not self._too_large:
                    await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return self._ended and self.is_whole

    def raise_error(self) -> None:
        """Raise the writer's OriginError, if it was cut short by now."""
        if self._error is not None:
            raise self._error

    def end(self, error: OriginError | None = None) -> None:
        """End the content; with an error, it was truncated before what was not shown."""
        self._ended, self._error = True, error
        if error is None:
            self._shown = self._size
        self._tell()
        for call in self._at_end:
            call()
        self._at_end.clear()
        self._release_if_unread()

    def _release_if_unread(self) -> None:
        """Release the content once it is read: other references to this may last long."""
        if self._ended and not self._positions and not self._waiting:
            self._content, self._loose = None, b""

    def at_end(self, call: Callable[[], object]) -> None:
        """Call this when there is no more to come; at once, if that is so already."""
        if self._ended:
            call()
        else:
            self._at_end.append(call)

    def join(self) -> object:
        """A new reader, for `read`. It counts from now on, until it has read everything or leaves."""
        reader = object()
        self._positions[reader] = 0
        return reader

    async def read(self, reader: object) -> AsyncGenerator[bytes]:
        """The pieces from the first on, as they come. Raises the writer's OriginError where it was cut short."""
        try:
            while True:
                at = self._positions[reader]
                if at < self._shown:
                    chunk = await self._piece(at)
                    if reader not in self._positions:
                        return
                    self._positions[reader] = at + len(chunk)
                    self._tell()
                    yield chunk
                elif self._ended:
                    if self._error is not None:
                        raise self._error
                    return
                else:
                    await self._changed.wait()
        finally:
            self.leave(reader)

    async def _piece(self, at: int) -> bytes:
        begins = self._size - len(self._loose)
        if self._loose and at >= begins:
            return self._loose[at - begins :]
        assert self._content is not None
        try:
            chunk = await self._content.read(at)
        except OSError as error:
            raise ConnectionError(f"a temporary file cannot be read: {error.strerror}") from error
        if not chunk:
            raise ConnectionError("a temporary file is shorter than it was")
        return chunk[: self._shown - at]

    def leave(self, reader: object) -> None:
        """Remove this reader, which reads no more; once is enough."""
        self._positions.pop(reader, None)
        self._release_if_unread()
        self._tell()


@dataclass(frozen=True, slots=True)
class Arriving:
    """The outcome that the answer may be shared; its content is still coming."""

    copy: Copy
    spool: Spool
    fits: bool
    """Whether all of it can be held, as its length tells. Else the writer may have to wait for the slowest reader."""

    async def can_be_joined(self) -> bool:
        """Whether one more may read it: at once if it fits, else when it is complete, if that is soon."""
        return self.spool.is_whole if self.fits else await self.spool.settled(SHARING_PATIENCE_S)


@dataclass(frozen=True, slots=True)
class Arrived:
    """The copy was confirmed."""

    copy: Copy
    body: Body


@dataclass(frozen=True, slots=True)
class Crashed:
    """The outcome that there was no answer."""

    error: OriginError


type Landing = Arriving | Arrived | Crashed | None
"""How a flight ends for those who wait; None: it is of no use to them, each has to ask for itself."""


class Flight:
    """A contact that is under way."""

    def __init__(self) -> None:
        self._landed: asyncio.Future[Landing] = asyncio.get_running_loop().create_future()

    def land(self, landing: Landing) -> None:
        """Tell all who wait, at once; only the first call counts."""
        if not self._landed.done():
            self._landed.set_result(landing)

    async def landing(self) -> Landing:
        """Wait for the end. One who stops waiting does not disturb the others."""
        return await asyncio.shield(self._landed)


class Flights:
    """The contacts that can be joined now, by partition and URL."""

    def __init__(self) -> None:
        self._flights: dict[tuple[str, str], Flight] = {}

    def of(self, request: Request) -> Flight | None:
        """The contact whose answer this request may wait for; None if there is none."""
        return self._flights.get(_key(request))

    def begin(self, request: Request) -> Flight:
        """Register a new contact."""
        flight = self._flights[_key(request)] = Flight()
        return flight

    def end(self, request: Request) -> None:
        """Remove a contact: it can be joined no more."""
        del self._flights[_key(request)]


def _key(request: Request) -> tuple[str, str]:
    return request.partition, request.target.url
