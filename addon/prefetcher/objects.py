"""The objects that take part in prefetching, numbered by slots, in flat arrays instead of Python objects.

A URL costs its length and 32 bytes, so that a million objects fit beside the schedule of them.
"""

from array import array
from collections.abc import Iterator

import numpy as np

from bestbefore.addon.store.backend.keeper import SHARDS, digest_of

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
        """How many places are not `_EMPTY`."""
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

    def add(self, url: str) -> int:
        """Return the slot of an object, which takes part from now on."""
        digest, text = digest_of(url), url.encode()
        slot = self._find(digest, text)
        return self._added(digest, text) if slot is None else slot

    def _added(self, digest: int, text: bytes) -> int:
        if self._free:
            slot = self._free.pop()
        else:
            slot = len(self._lengths)
            for column in (self._starts, self._lengths, self._digests, self._requests, self._ranges):
                column.append(0)
        self._starts[slot], self._lengths[slot], self._digests[slot] = len(self._texts), len(text), digest
        self._requests[slot] = self._ranges[slot] = 0
        self._texts += text
        if self._used >= MOST_USED * len(self._places):
            self._rehash()
        else:
            self._insert(digest, slot)
        return slot

    def _insert(self, digest: int, slot: int) -> None:
        for place in self._search(digest):
            if self._places[place] < 0:
                self._used += self._places[place] == _EMPTY
                self._places[place] = slot
                return

    def _rehash(self) -> None:
        size = LEAST_PLACES
        while len(self) > 0.5 * MOST_USED * size:
            size *= 2
        self._places, self._used = array("i", [_EMPTY]) * size, 0
        for slot in self:
            self._insert(self._digests[slot], slot)

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

    def set_demand(self, slot: int, requests: int, asked_from: tuple[str, ...]) -> None:
        """Set the demand for an object."""
        self._requests[slot] = min(requests, 2**32 - 1)
        if asked_from not in self._of_ranges:
            self._of_ranges.append(asked_from)
        self._ranges[slot] = self._of_ranges.index(asked_from)

    def in_shards(self, shards: frozenset[int]) -> list[int]:
        """Return the slots of the objects in some shards."""
        of = np.array(self._digests, dtype=np.uint64) % SHARDS  # as `shard_of`
        found = np.isin(of, list(shards)) & (np.array(self._lengths) > 0)
        slots: list[int] = np.flatnonzero(found).tolist()
        return slots
