"""Content that is being collected: in memory if it is small and the budget allows, else in a file."""

import asyncio
from bisect import bisect_right

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.store.backend.bodies import STREAM_FROM_BYTES
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

MEMORY_BYTES = STREAM_FROM_BYTES
"""Larger content goes to a file although there may be room in memory: it will be served from a file later."""
PIECE_BYTES = 64 * 1024
"""The size of a read from a file, or from a large piece in memory."""


type Collected = bytes | UnlinkedFile


class Content:
    """The content received so far. It counts against the budget until the last reference to it is gone."""

    def __init__(self, budget: Budget) -> None:
        self.size = 0
        self._budget = budget
        self._reserved_bytes = 0
        self._chunks: list[bytes] = []
        self._chunk_starts: list[int] = []
        """The offset of each chunk in the content, bytes."""
        self._file: UnlinkedFile | None = None
        self._file_bytes = 0
        """Reserved disk space."""

    def __del__(self) -> None:
        self._budget.release(self._reserved_bytes)
        self._budget.release_file(self._file_bytes)

    async def add(self, chunk: bytes) -> bool:
        """Append a piece; False if there is room for it neither in memory nor on the disk."""
        if self._file is None:
            in_memory = self.size + len(chunk) <= MEMORY_BYTES or not self._budget.has_files
            if in_memory and self._take(chunk):
                return True
            if not await self._move():
                return not in_memory and self._take(chunk)
        return await self._write(chunk)

    def _take(self, chunk: bytes) -> bool:
        if not self._budget.take(len(chunk)):
            return False
        self._reserved_bytes += len(chunk)
        self._chunk_starts.append(self.size)
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
                self._budget.release_file(self._file_bytes)
                self._file_bytes = 0
                return False
        self._chunks, self._chunk_starts = [], []
        self._budget.release(self._reserved_bytes)
        self._reserved_bytes = 0
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
        """Return a piece of the content from this offset on. Raises OSError."""
        if self._chunk_starts:
            number = bisect_right(self._chunk_starts, at) - 1
            offset = at - self._chunk_starts[number]
            chunk = self._chunks[number]
            return chunk if not offset and len(chunk) <= 2 * PIECE_BYTES else chunk[offset : offset + PIECE_BYTES]
        assert self._file is not None
        return await asyncio.to_thread(self._file.read, at, PIECE_BYTES)

    def body(self) -> bytes | UnlinkedFile:
        """Return the whole content, without copying it again."""
        if self._file is not None:
            return self._file
        if len(self._chunks) > 1:
            self._chunks, self._chunk_starts = [b"".join(self._chunks)], [0]
        return self._chunks[0] if self._chunks else b""


async def for_store(collected: Collected) -> Collected:
    """Return content for the store's queue; only large content remains a file, so that few files stay open."""
    if isinstance(collected, bytes) or len(collected) > MEMORY_BYTES:
        return collected
    return await asyncio.to_thread(collected.read_all)
