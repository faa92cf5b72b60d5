"""The upload: the content of a request, from a client to the origin."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

READ_S = 60.0


class UploadError(ConnectionError):
    """The client did not send its content as announced."""


class Upload:
    """Content that a client sends, handed on as it comes. It is read once.

    `wanted` is called whenever less waits than before, so that the client can be read from again.
    """

    def __init__(self, length: int | None, wanted: Callable[[], object] = lambda: None) -> None:
        """`length`: the announced one, bytes; None: it comes in chunks."""
        self.length = length
        self.waiting_bytes = 0
        """How much has come that was not taken yet."""
        self._wanted = wanted
        self._size = 0
        self._pieces: deque[bytes] = deque()
        self.ended = False
        """Whether all of it has come."""
        self._error: UploadError | None = None
        self._dropped = False
        self._moved = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """Add content."""
        self._size += len(data)
        if self.length is not None and self._size > self.length:
            self.fail("more content than announced")
        elif not self._dropped and data:
            self._pieces.append(data)
            self.waiting_bytes += len(data)
            self._moved.set()

    def end(self) -> None:
        """Note that the content is complete."""
        if self.length is not None and self._size < self.length:
            self.fail("less content than announced")
        self.ended = True
        self._moved.set()

    def fail(self, why: str) -> None:
        """Note that the content will not be complete."""
        self._error = self._error or UploadError(why)
        self._moved.set()

    def drop(self) -> None:
        """Discard what comes, which is of no use any more."""
        self._dropped = True
        self._pieces.clear()
        self.waiting_bytes = 0
        self._wanted()

    async def chunks(self, silence_s: float = READ_S) -> AsyncGenerator[bytes]:
        """The pieces as they come. Raises UploadError where it breaks off, or nothing comes for `silence_s`."""
        while True:
            if self._error is not None:
                raise self._error
            if self._pieces:
                piece = self._pieces.popleft()
                self.waiting_bytes -= len(piece)
                self._wanted()
                yield piece
            elif self.ended:
                return
            else:
                self._moved.clear()
                try:
                    async with asyncio.timeout(silence_s):
                        await self._moved.wait()
                except TimeoutError:
                    raise UploadError("the client stopped sending its content") from None

    async def broken_off(self) -> None:
        """Wait until the client leaves, which it may after all of it has come. Raises UploadError then."""
        while self._error is None:
            self._moved.clear()
            await self._moved.wait()
        raise self._error
