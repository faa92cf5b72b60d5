"""How much of a stream is kept."""

from collections import deque


class Retained:
    """The entries of a stream, the first of which are trimmed when they are too many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._entries: deque[tuple[str, int]] = deque()
        self._size_bytes = 0

    def add(self, entry: str, size_bytes: int) -> str | None:
        """Add the last entry; return the first to keep if others must be trimmed, else None."""
        self._entries.append((entry, size_bytes))
        self._size_bytes += size_bytes
        if self._size_bytes <= self._most_bytes:
            return None
        while self._size_bytes > self._most_bytes and len(self._entries) > 1:
            self._size_bytes -= self._entries.popleft()[1]
        return self._entries[0][0]
