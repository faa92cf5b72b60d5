"""Arriving content in segments, the first of which can be released while the last is written."""

from collections import deque

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import Content


class Segments:
    """The content from `start` to `end`."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._segments = deque([(0, Content(budget))])
        """Each with its offset; they adjoin."""
        self.end = 0

    @property
    def start(self) -> int:
        """The offset of the first byte that is kept."""
        return self._segments[0][0] if self._segments else self.end

    @property
    def whole(self) -> Content | None:
        """The content; None if it is not kept from its start on, or in several segments."""
        return self._segments[0][1] if len(self._segments) == 1 and not self.start else None

    async def add(self, chunk: bytes, most_bytes: int) -> bool:
        """Append a piece, to a new segment if the last would exceed `most_bytes`; False if there is no room."""
        size = self._segments[-1][1].size if self._segments else 0
        if not self._segments or (size and size + len(chunk) > most_bytes):
            self._segments.append((self.end, Content(self._budget)))
        if not await self._segments[-1][1].add(chunk):
            return False
        self.end += len(chunk)
        return True

    async def read(self, at: int) -> bytes:
        """Return a piece from this offset on. Raises OSError."""
        offset, content = next(segment for segment in reversed(self._segments) if segment[0] <= at)
        return await content.read(at - offset)

    def release(self, until: int) -> None:
        """Release the segments that end before or at this offset."""
        while self._segments and self._segments[0][0] + self._segments[0][1].size <= until:
            self._segments.popleft()

    def skip(self, size: int) -> None:
        """Go on after a piece that was not added; nothing before it is kept."""
        self._segments.clear()
        self.end += size
