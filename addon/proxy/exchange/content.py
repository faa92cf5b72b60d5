"""Content that is collected: once, in memory as far as it is small and the budget goes, else in a file."""

import asyncio
from bisect import bisect_right

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.store.backend.bodies import STREAM_FROM_BYTES
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

MEMORY_BYTES = STREAM_FROM_BYTES
"""What is larger goes to a file although there may be room: it will be served from one."""
PIECE_BYTES = 64 * 1024
"""What is read at a time, unless it came in larger pieces."""


class Content:
    """The content received so far. It takes of the budget until the last reference to it is gone."""

    def __init__(self, budget: Budget) -> None:
        self.size = 0
        self._budget = budget
        self._taken_bytes = 0
        self._chunks: list[bytes] = []
        self._starts: list[int] = []
        """Where in the content each of the chunks begins."""
        self._file: UnlinkedFile | None = None
        self._file_bytes = 0
        """Taken of the budget."""

    def __del__(self) -> None:
        self._budget.give(self._taken_bytes)
        self._budget.give_file(self._file_bytes)

    async def add(self, chunk: bytes) -> bool:
        """Append. False, and nothing was added, if there is room neither in memory nor on the disk."""
        if self._file is None:
            small = self.size + len(chunk) <= MEMORY_BYTES or not self._budget.has_files
            if small and self._take(chunk):
                return True
            if not await self._move():
                return not small and self._take(chunk)
        return await self._write(chunk)

    def _take(self, chunk: bytes) -> bool:
        if not self._budget.take(len(chunk)):
            return False
        self._taken_bytes += len(chunk)
        self._starts.append(self.size)
        self._chunks.append(chunk)
        self.size += len(chunk)
        return True

    async def _move(self) -> bool:
        """Move the content from memory to a file; False if that cannot be done."""
        self._file = self._budget.open_file()
        if self._file is None:
            return False
        for chunk in self._chunks:
            if not await self._write(chunk, moving=True):
                self._file = None
                self._budget.give_file(self._file_bytes)
                self._file_bytes = 0
                return False
        self._chunks, self._starts = [], []
        self._budget.give(self._taken_bytes)
        self._taken_bytes = 0
        return True

    async def _write(self, chunk: bytes, *, moving: bool = False) -> bool:
        file = self._file
        assert file is not None
        if not self._budget.take_file(len(chunk)):
            return False
        self._file_bytes += len(chunk)
        try:
            await asyncio.to_thread(file.add, chunk)
        except OSError:
            return False
        if not moving:
            self.size += len(chunk)
        return True

    async def read(self, at: int) -> bytes:
        """A piece of what there is from there on. Raises OSError."""
        if self._starts:
            number = bisect_right(self._starts, at) - 1
            begin = at - self._starts[number]
            chunk = self._chunks[number]
            return chunk if not begin and len(chunk) <= 2 * PIECE_BYTES else chunk[begin : begin + PIECE_BYTES]
        assert self._file is not None
        return await asyncio.to_thread(self._file.read, at, PIECE_BYTES)

    def body(self) -> bytes | UnlinkedFile:
        """Return all that there is, which is not copied again."""
        if self._file is not None:
            return self._file
        if len(self._chunks) > 1:
            self._chunks, self._starts = [b"".join(self._chunks)], [0]
        return self._chunks[0] if self._chunks else b""
