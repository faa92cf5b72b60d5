"""Arriving content for several readers."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.sharing.segments import Segments
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

GRACE_S = 5.0
"""How long readers of content for which there is no more room wait, in all, for slower ones; real seconds."""
SEGMENTS = 8
"""Content beyond the limit is kept in segments of the limit divided by this."""

type ReadRest = Callable[[int], AsyncGenerator[bytes]]
"""Yields content from an offset on."""


class Spool:
    """A spool of arriving content for several readers, each at its own speed.

    Up to `limit` bytes are kept from the start, if the budget allows, so that a slow reader blocks no other and a late
    one reads from the start. Content that turns out to be larger will not be stored. No other reader can join then; the
    writer waits for the fastest reader, and what the slower ones have not read is kept up to `limit` bytes behind the
    first `limit`. When there is no room even for that, the slower ones have `GRACE_S` to catch up. Then they are left
    behind, and get the rest from elsewhere.
    """

    def __init__(self, limit: int, budget: Budget | None = None) -> None:
        self._limit = limit
        self._kept = Segments(Budget() if budget is None else budget)
        self._overflow = b""
        """A piece for which there was no room; the writer waits until all readers have read it."""
        self._published_bytes = 0
        """Readers may read up to this offset."""
        self.is_too_large = False
        """Whether the content exceeds the limit or the budget."""
        self._is_closed = False
        self._ended = False
        self.error: OriginError | None = None
        """The writer's, by which the content is truncated."""
        self._positions: dict[object, int] = {}
        self._left_behind: set[object] = set()
        self._grace_s = GRACE_S
        """How much of it is left."""
        self._on_end: list[Callable[[], object]] = []
        self._grown = asyncio.Event()
        self._was_read = asyncio.Event()

    @property
    def size(self) -> int:
        """How many bytes have been added."""
        return self._kept.end + len(self._overflow)

    @property
    def can_be_joined(self) -> bool:
        """Whether a reader that joins now can read the whole content."""
        return not (self._is_closed or self.is_too_large)

    @property
    def exceeds_limit(self) -> bool:
        """Whether the content is too large for any budget."""
        return self.size > self._limit

    @property
    def has_readers(self) -> bool:
        """Whether a reader has joined and not left."""
        return bool(self._positions)

    @property
    def body(self) -> bytes | UnlinkedFile | None:
        """Return the content received so far, without copying it; None if there was no room for it."""
        whole = None if self.is_too_large else self._kept.whole
        return None if whole is None else whole.body()

    async def add(self, chunk: bytes) -> None:
        """Add a piece, which readers get after `publish`."""
        if self.size + len(chunk) > self._limit:
            self.is_too_large = True
        if not await self._keep(chunk):
            self.is_too_large, self._overflow = True, chunk

    async def _keep(self, chunk: bytes) -> bool:
        if not self.is_too_large:
            return await self._kept.add(chunk, self._limit)
        self._kept.release(min(self._positions.values(), default=self.size))
        fits = self.size + len(chunk) - self._kept.start <= 2 * self._limit
        return fits and await self._kept.add(chunk, self._limit // SEGMENTS)

    async def publish(self) -> bool:
        """Let readers read the added pieces. False if there is neither room nor a reader: reading on is useless."""
        self._published_bytes = self.size
        self._notify_readers()
        if not self.is_too_large:
            return True
        while self._positions and max(self._positions.values()) < self.size:
            await self._was_read.wait()
        if self._overflow:
            await self._leave_behind()
            self._kept.skip(len(self._overflow))
            self._overflow = b""
        return self.has_readers

    async def _leave_behind(self) -> None:
        """Wait for the slower readers as long as there is grace; leave behind those that have not read everything."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace_s) as limit:
                while min(self._positions.values(), default=self.size) < self.size:
                    await self._was_read.wait()
        self._grace_s = max(0.0, (limit.when() or 0.0) - asyncio.get_running_loop().time())
        self._left_behind |= {reader for reader, at in self._positions.items() if at < self.size}
        self._positions = {reader: at for reader, at in self._positions.items() if at == self.size}
        self._notify_readers()

    async def is_collected(self, patience_s: float | None = None) -> bool:
        """Wait until the content is complete; False if it is too large, or takes longer than `patience_s`."""
        try:
            async with asyncio.timeout(patience_s):
                while not self._ended and not self.is_too_large:
                    await self._grown.wait()
        except TimeoutError:
            return False
        return not self.is_too_large

    def raise_error(self) -> None:
        """Raise the writer's OriginError, if it has failed."""
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Let no other reader join."""
        self._is_closed = True

    def end(self, error: OriginError | None = None) -> None:
        """End the content; with an error, it is truncated before the pieces that were not published."""
        self._ended, self.error = True, error
        if error is None:
            self._published_bytes = self.size
        else:
            self.close()
        self._notify_readers()
        for call in self._on_end:
            call()
        self._on_end.clear()
        self._release_if_unread()

    def _release_if_unread(self) -> None:
        """Release the content when nothing will read it: other references to this spool may last long."""
        if self._ended and not self._positions:
            self.close()
            self._kept.release(self.size)

    def on_end(self, call: Callable[[], object]) -> None:
        """Call a function at the end of the content; at once if it has ended."""
        if self._ended:
            call()
        else:
            self._on_end.append(call)

    def join(self) -> object:
        """Return a new reader, for `read`."""
        reader = object()
        self._positions[reader] = 0
        return reader

    async def read(self, reader: object, rest: ReadRest) -> AsyncGenerator[bytes]:
        """Yield all pieces, as they arrive; `rest` yields those for which the reader was too slow.

        Raises the writer's OriginError if the content is truncated, and ConnectionError if it is for this reader.
        """
        at = 0
        try:
            while True:
                if reader in self._left_behind:
                    async with aclosing(rest(at)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                if reader not in self._positions:
                    return
                if at < self._published_bytes:
                    chunk = await self._piece(at)
                    if reader in self._positions:
                        at += len(chunk)
                        self._positions[reader] = at
                        self._notify_writer()
                        yield chunk
                elif self._ended:
                    self.raise_error()
                    return
                else:
                    await self._grown.wait()
        finally:
            self.leave(reader)

    async def _piece(self, at: int) -> bytes:
        if at >= self._kept.end:
            return self._overflow[at - self._kept.end :]
        try:
            chunk = await self._kept.read(at)
        except OSError as error:
            raise ConnectionError(f"a temporary file cannot be read: {error.strerror}") from error
        if not chunk:
            raise ConnectionError("a temporary file is shorter than it was")
        return chunk[: self._published_bytes - at]

    def leave(self, reader: object) -> None:
        """Remove a reader. A second call does nothing."""
        self._positions.pop(reader, None)
        self._left_behind.discard(reader)
        self._release_if_unread()
        self._notify_writer()

    def _notify_readers(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    def _notify_writer(self) -> None:
        self._was_read.set()
        self._was_read = asyncio.Event()


@dataclass(frozen=True, slots=True)
class Arriving:
    """Content for another reader."""

    spool: Spool
    rest: ReadRest
    """For what it reads too slowly."""
