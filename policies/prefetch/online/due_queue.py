"""A queue of numbered objects by due time, in flat arrays: 16 bytes an object."""

from array import array

import numpy as np

from bestbefore.policies.units import FloatArray, IntArray

OUT = -1
"""The place of an object that is not queued."""


class DueQueue:
    """A binary heap in which each object knows its place, so that there are no outdated entries."""

    def __init__(self) -> None:
        self._due_s = array("d")
        """By place: a time is not after those at the places 2p+1 and 2p+2."""
        self._slots = array("i")
        """By place: the object."""
        self._places = array("i")
        """By object: its place."""

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, slot: int) -> bool:
        return slot < len(self._places) and self._places[slot] != OUT

    def first(self) -> tuple[float, int] | None:
        """Return the earliest due time and its object; None if none is queued."""
        return (self._due_s[0], self._slots[0]) if self._slots else None

    def slots(self) -> IntArray:
        """Return the queued objects, in no order."""
        return np.array(self._slots, dtype=np.intp)

    def earliest(self, most: int) -> IntArray:
        """Return the objects due first, in no order. O(n)."""
        slots, due_s = self.slots(), np.array(self._due_s)
        return slots if most >= slots.size else slots[np.argpartition(due_s, most)[:most]]

    def fill(self, slots: IntArray, due_s: FloatArray) -> None:
        """Queue these objects, and no others."""
        order = np.argsort(due_s, kind="stable")
        ordered = slots[order].astype(np.intc)
        places = np.full(max(len(self._places), int(slots.max(initial=-1)) + 1), OUT, dtype=np.intc)
        places[ordered] = np.arange(len(ordered))
        # ascending times are a heap
        self._due_s = array("d", due_s[order].tobytes())
        self._slots = array("i", ordered.tobytes())
        self._places = array("i", places.tobytes())

    def put_all(self, slots: IntArray, due_s: FloatArray) -> None:
        """Queue different objects, or move them to other times. Those that are never due are appended at once."""
        self._reserve(int(slots.max(initial=-1)) + 1)
        places = np.frombuffer(self._places, dtype=np.intc)
        undue = bool((due_s == np.inf).all() and (places[slots] == OUT).all())
        if undue:
            places[slots] = np.arange(len(self._slots), len(self._slots) + slots.size)
        del places  # while a view exists the array cannot grow, and a profiler may keep this frame
        if undue:
            self._slots.frombytes(slots.astype(np.intc).tobytes())
            self._due_s.frombytes(due_s.tobytes())
            return
        for slot, at_s in zip(slots.tolist(), due_s.tolist(), strict=True):
            self.put(slot, at_s)

    def _reserve(self, n: int) -> None:
        if n > len(self._places):
            self._places.extend([OUT] * (n - len(self._places)))

    def put(self, slot: int, due_s: float) -> None:
        """Queue an object, or move it to another time."""
        self._reserve(slot + 1)
        place = self._places[slot]
        if place == OUT:
            place = len(self._slots)
            self._slots.append(slot)
            self._due_s.append(due_s)
        self._settle(place, slot, due_s)

    def remove(self, slot: int) -> None:
        """Take an object out of the queue, if it is queued."""
        if slot not in self:
            return
        place = self._places[slot]
        self._places[slot] = OUT
        last, due_s = self._slots.pop(), self._due_s.pop()
        if last != slot:
            self._settle(place, last, due_s)

    def _settle(self, place: int, slot: int, due_s: float) -> None:
        """Put an object at a place, and move it up or down until the heap is in order."""
        times, slots, places = self._due_s, self._slots, self._places
        while place and times[parent := (place - 1) // 2] > due_s:
            times[place] = times[parent]
            slots[place] = moved = slots[parent]
            places[moved] = place
            place = parent
        size = len(slots)
        while (child := 2 * place + 1) < size:
            if child + 1 < size and times[child + 1] < times[child]:
                child += 1
            if times[child] >= due_s:
                break
            times[place] = times[child]
            slots[place] = moved = slots[child]
            places[moved] = place
            place = child
        times[place] = due_s
        slots[place] = slot
        places[slot] = place
