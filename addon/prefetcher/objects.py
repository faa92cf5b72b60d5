"""The objects that take part in prefetching, numbered by slots, in flat arrays instead of Python objects.

A URL costs its length and 32 bytes, so that a million objects fit beside the schedule of them.
"""

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bestbefore.addon.store.backend.keeper import SHARDS, digest_of
from bestbefore.addon.store.candidate import CandidateTable
from bestbefore.policies.units import IntArray

_EMPTY, _LEFT = -1, -2
"""In the table: never used, and the slot that was there is removed."""
LEAST_PLACES = 1024
MOST_USED = 0.7
"""The part of the places of the table above which it grows: a search looks at few places."""
WASTE = 1 << 20
"""The removed bytes above which texts are moved together, if they are half of all."""


class Objects:
    """URLs by slot, and slots by URL: an open hash table of slots, and one text of all URLs."""

    def __init__(self) -> None:
        self._places = array("i", [_EMPTY]) * LEAST_PLACES
        """The hash table."""
        self._used = 0
        """At least how many places are not `_EMPTY`."""
        self._texts = bytearray()
        self._starts = array("Q")
        """By slot: where its URL begins in the texts."""
        self._lengths = array("H")
        """By slot: the length of its URL, 0 for a free slot."""
        self._digests = array("Q")
        self._requests = array("I")
        self._ranges = array("H")
        """By slot: the number of its ranges."""
        self._of_ranges: list[tuple[str, ...]] = [()]
        self._free: list[int] = []
        self._removed_bytes = 0

    def __len__(self) -> int:
        return len(self._lengths) - len(self._free)

    def __iter__(self) -> Iterator[int]:
        """Yield the slots. Objects may be added and removed meanwhile."""
        return (slot for slot in range(len(self._lengths)) if self._lengths[slot])

    @property
    def nbytes(self) -> int:
        """The memory that the objects take."""
        columns = (self._places, self._starts, self._lengths, self._digests, self._requests, self._ranges)
        return len(self._texts) + sum(column.itemsize * len(column) for column in columns)

    def slot_of(self, url: str) -> int | None:
        """Return the slot of an object; None if it does not take part."""
        return self._find(digest_of(url), url.encode())

    def _find(self, digest: int, text: bytes) -> int | None:
        for place in self._search(digest):
            slot = self._places[place]
            if slot == _EMPTY:
                return None
            if slot != _LEFT and self._digests[slot] == digest and self._text(slot) == text:
                return slot
        return None

    def _search(self, digest: int) -> Iterator[int]:
        """Yield the places at which an object may be, in order."""
        last = len(self._places) - 1
        place = (digest >> 8) & last
        while True:
            yield place
            place = (place + 1) & last

    def add_all(self, table: CandidateTable) -> IntArray:
        """Return the slots (n,) of these objects, which take part from now on, with the demand in the table."""
        texts = [url.encode() for url in table.urls]
        digests = np.fromiter(map(digest_of, table.urls), np.uint64, len(texts))
        slots = self._find_all(digests, texts)
        new = np.flatnonzero(slots < 0)
        if new.size:
            slots[new] = self._added(digests[new], [texts[i] for i in new.tolist()])
        requests, ranges = np.frombuffer(self._requests, np.uintc), np.frombuffer(self._ranges, np.ushort)
        requests[slots] = table.rows["requests"]
        ranges[slots] = 0
        for i, (asked_from, _) in table.rare.items():
            if asked_from not in self._of_ranges:
                self._of_ranges.append(asked_from)
            ranges[slots[i]] = self._of_ranges.index(asked_from)
        return slots

    def _find_all(self, digests: NDArray[np.uint64], texts: Sequence[bytes]) -> IntArray:
        """(n,) the slots of objects, as `_find` does; -1 for those that do not take part."""
        slots = np.full(digests.size, -1, dtype=np.intp)
        if not self._lengths:
            return slots
        table, known = np.frombuffer(self._places, np.intc), np.frombuffer(self._digests, np.uint64)
        places, left = self._first_places(digests), np.arange(digests.size)
        while left.size:
            found = table[places[left]]
            left, found = left[found != _EMPTY], found[found != _EMPTY]
            is_it = (found >= 0) & (known[np.maximum(found, 0)] == digests[left])
            slots[left[is_it]] = found[is_it]
            left = left[~is_it]
            places[left] = (places[left] + 1) & (len(table) - 1)
        for i in np.flatnonzero(slots >= 0).tolist():
            if self._text(slots[i]) != texts[i]:  # another object with its digest
                found_slot = self._find(int(digests[i]), texts[i])
                slots[i] = -1 if found_slot is None else found_slot
        return slots

    def _first_places(self, digests: NDArray[np.uint64]) -> IntArray:
        """(n,) the places at which `_search` begins."""
        return ((digests >> np.uint64(8)) & np.uint64(len(self._places) - 1)).astype(np.intp)

    def _added(self, digests: NDArray[np.uint64], texts: Sequence[bytes]) -> IntArray:
        reused, self._free = self._free[-len(texts) :], self._free[: -len(texts)]
        n = len(self._lengths)
        slots = np.array([*reused, *range(n, n + len(texts) - len(reused))], dtype=np.intp)
        for column in (self._starts, self._lengths, self._digests, self._requests, self._ranges):
            column.frombytes(bytes(column.itemsize * (slots.size - len(reused))))
        lengths = np.array(list(map(len, texts)))
        np.frombuffer(self._starts, np.uint64)[slots] = len(self._texts) + np.cumsum(lengths) - lengths
        np.frombuffer(self._lengths, np.ushort)[slots] = lengths
        np.frombuffer(self._digests, np.uint64)[slots] = digests
        self._texts += b"".join(texts)
        if self._used + slots.size > MOST_USED * len(self._places):
            self._rehash()
        else:
            self._used += slots.size  # too much where places of removed objects are used again, which is harmless
            self._insert_all(digests, slots)
        return slots

    def _insert_all(self, digests: NDArray[np.uint64], slots: IntArray) -> None:
        table = np.frombuffer(self._places, np.intc)
        places = self._first_places(digests)
        while slots.size:
            is_free = table[places] < 0
            table[places[is_free]] = slots[is_free]  # of several at a place the last one stays
            left = table[places] != slots
            slots, places = slots[left], (places[left] + 1) & (len(table) - 1)

    def _rehash(self) -> None:
        size = LEAST_PLACES
        while len(self) > 0.5 * MOST_USED * size:
            size *= 2
        self._places, self._used = array("i", [_EMPTY]) * size, len(self)
        slots = np.flatnonzero(np.frombuffer(self._lengths, np.ushort))
        self._insert_all(np.frombuffer(self._digests, np.uint64)[slots], slots)

    def remove(self, slot: int) -> None:
        """Let an object no longer take part; its slot may be given to another."""
        place = next(place for place in self._search(self._digests[slot]) if self._places[place] == slot)
        self._places[place] = _LEFT
        self._removed_bytes += self._lengths[slot]
        self._lengths[slot] = 0
        self._free.append(slot)
        if self._removed_bytes > max(WASTE, len(self._texts) // 2):
            self._move_together()

    def _move_together(self) -> None:
        texts = bytearray()
        for slot in self:
            text = self._text(slot)
            self._starts[slot] = len(texts)
            texts += text
        self._texts, self._removed_bytes = texts, 0

    def _text(self, slot: int) -> bytes:
        start = self._starts[slot]
        return bytes(self._texts[start : start + self._lengths[slot]])

    def url(self, slot: int) -> str:
        """Return the URL of a slot."""
        return self._text(slot).decode()

    def requests(self, slot: int) -> int:
        """Return how often clients asked for an object in the days that count."""
        return self._requests[slot]

    def asked_from(self, slot: int) -> tuple[str, ...]:
        """Return the ranges of private addresses from which clients have requested an object."""
        return self._of_ranges[self._ranges[slot]]

    def in_shards(self, shards: frozenset[int]) -> list[int]:
        """Return the slots of the objects in some shards."""
        of = np.array(self._digests, dtype=np.uint64) % SHARDS  # as `shard_of`
        found = np.isin(of, list(shards)) & (np.array(self._lengths) > 0)
        slots: list[int] = np.flatnonzero(found).tolist()
        return slots
