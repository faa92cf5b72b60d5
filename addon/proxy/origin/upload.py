"""Uploads: the content of a request, on its way from a client to the origin."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

READ_S = 60.0


class UploadError(ConnectionError):
    """The client did not send the content as announced."""


class Upload:
    """The content of a request, which is read once, while it arrives.

    `on_consumed` is called whenever content was read, so that reading from the client can resume.
    """

    def __init__(self, length: int | None, on_consumed: Callable[[], object] = lambda: None) -> None:
        """`length`: the announced length, bytes; None: the content is chunked."""
        self.length = length
        self.waiting_bytes = 0
        """How much content was received but not read yet."""
        self._on_consumed = on_consumed
        self.size_bytes = 0
        """How much content was received."""
        self._pieces: deque[bytes] = deque()
        self.ended = False
        """Whether the content is complete."""
        self._error: UploadError | None = None
        self._dropped = False
        self._activity = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """Add content."""
        self.size_bytes += len(data)
        if self.length is not None and self.size_bytes > self.length:
            self.fail("more content than announced")
        elif not self._dropped and data:
            self._pieces.append(data)
            self.waiting_bytes += len(data)
            self._activity.set()

    def end(self) -> None:
        """Mark the content as complete."""
        if self.length is not None and self.size_bytes < self.length:
            self.fail("less content than announced")
        self.ended = True
        self._activity.set()

    def fail(self, why: str) -> None:
        """Mark the content as failed."""
        self._error = self._error or UploadError(why)
        self._activity.set()

    def drop(self) -> None:
        """Discard the content, received and future."""
        self._dropped = True
        self._pieces.clear()
        self.waiting_bytes = 0
        self._on_consumed()

    async def chunks(self, silence_s: float = READ_S) -> AsyncGenerator[bytes]:
        """Yield the pieces as they arrive. Raises UploadError if the client fails, or nothing comes for `silence_s`."""
        while True:
            if self._error is not None:
                raise self._error
            if self._pieces:
                piece = self._pieces.popleft()
                self.waiting_bytes -= len(piece)
                self._on_consumed()
                yield piece
            elif self.ended:
                return
            else:
                self._activity.clear()
                try:
                    async with asyncio.timeout(silence_s):
                        await self._activity.wait()
                except TimeoutError:
                    raise UploadError("the client stopped sending its content") from None

    async def wait_for_failure(self) -> None:
        """Wait until the client disconnects, possibly after the end of the content; then raise UploadError."""
        while self._error is None:
            self._activity.clear()
            await self._activity.wait()
        raise self._error
