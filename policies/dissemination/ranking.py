"""A priority queue whose members change their keys."""

from heapq import heapify, heappop, heappush

Key = tuple[float, ...]
"""A key; the least comes first."""


class Ranking:
    """Members (ints) by key, the least first, equal keys by member.

    A change of key adds an entry to a heap, and entries out of date are dropped when they reach its top, or all at once
    when they are more than half of the heap: O(log n) for each change, amortised, and O(n) memory.
    """

    __slots__ = ("_heap", "_keys")

    def __init__(self) -> None:
        self._heap: list[tuple[Key, int]] = []
        self._keys: dict[int, Key] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, member: int, key: Key) -> None:
        """Add a member or change its key."""
        if self._keys.get(member) == key:
            return
        self._keys[member] = key
        heappush(self._heap, (key, member))
        if len(self._heap) > 2 * len(self._keys) + 8:
            self._heap = [(key, member) for member, key in self._keys.items()]
            heapify(self._heap)

    def discard(self, member: int) -> None:
        """Remove a member, if it is one."""
        self._keys.pop(member, None)

    def first(self) -> tuple[Key, int] | None:
        """The least key and its member; None without members."""
        heap, keys = self._heap, self._keys
        while heap:
            key, member = heap[0]
            if keys.get(member) == key:
                return heap[0]
            heappop(heap)
        return None
