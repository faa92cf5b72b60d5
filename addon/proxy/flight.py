"""One fetch for many: a contact that others wait for, and its content for all of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass

from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.interface import Body

SHARING_PATIENCE_S = 10.0
"""How long content of unknown length is awaited by those who would share it, before they ask for themselves; real
seconds."""


class Spool:
    """Content as it comes, read by several at their own pace.

    Up to `limit` bytes are held, so that a slow reader holds up nobody and late ones read from the start. Beyond it the
    writer waits for the readers that there are, and nobody can join.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._dropped = 0
        self._size = 0
        self._ended = False
        self._error: OriginError | None = None
        self._positions: dict[object, int] = {}
        self._at_end: list[Callable[[], object]] = []
        self._changed = asyncio.Event()

    @property
    def is_whole(self) -> bool:
        """Whether a reader that begins now reads everything."""
        return self._dropped == 0

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def write(self, chunk: bytes) -> bool:
        """Add a piece. False if it is of no use to go on: too large to be held, and nobody reads."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._tell()
        if self._size <= self._limit:
            return True
        end = self._dropped + len(self._chunks)
        while any(position < end for position in self._positions.values()):
            await self._changed.wait()
        self._dropped, self._chunks = end, []
        return bool(self._positions)

    async def settled(self, patience_s: float) -> bool:
        """Wait until all of it is held; False if it is too large for that, or takes longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while not self._ended and self._size <= self._limit:
                    await self._changed.wait()
        return self._ended and self.is_whole

    def end(self, error: OriginError | None = None) -> None:
        """There is no more; with an error, it was cut short."""
        self._ended, self._error = True, error
        self._tell()
        for call in self._at_end:
            call()

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
                at = self._positions[reader] - self._dropped
                if at < len(self._chunks):
                    chunk = self._chunks[at]
                    self._positions[reader] += 1
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

    def leave(self, reader: object) -> None:
        """This reader reads no more; once is enough."""
        self._positions.pop(reader, None)
        self._tell()


async def fill(spool: Spool, chunks: AsyncGenerator[bytes]) -> None:
    """Read an answer to its end, whether or not the client that asked for it is still there.

    If reading is given up, or fails by a fault of ours, those who read along must not take what there is for all of it.
    """
    error: OriginError | None = OriginError(Failure.RESET, "the answer was not read to its end")
    try:
        async for chunk in chunks:
            if not await spool.write(chunk):
                break
        error = None
    except OriginError as raised:
        error = raised
    finally:
        await chunks.aclose()
        spool.end(error)


@dataclass(frozen=True, slots=True)
class Arriving:
    """The answer may be shared; its content is on its way."""

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
    """There was no answer."""

    error: OriginError


type Landing = Arriving | Arrived | Crashed | None
"""How a flight ends for those who wait; None: it is of no use to them, each has to ask for itself."""


class Flight:
    """A contact on its way."""

    def __init__(self) -> None:
        self._landed: asyncio.Future[Landing] = asyncio.get_running_loop().create_future()

    def land(self, landing: Landing) -> None:
        """Tell all who wait, at once; only the first call counts."""
        if not self._landed.done():
            self._landed.set_result(landing)

    async def landing(self) -> Landing:
        """Wait for the end. One who stops waiting does not disturb the others."""
        return await asyncio.shield(self._landed)
