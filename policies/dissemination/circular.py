"""Circular broadcast: each item that is waited for, in turn."""

from heapq import heappop, heappush

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.scheduler import Scheduler


class Circular(Scheduler):
    """Sends the next item that clients wait for, in the order of their numbers, after the last from the first again.

    Source: Lam, Garcia-Molina, section 3, "Circular Broadcast".
    """

    name = "circ"

    def __init__(self, audience: Audience) -> None:
        super().__init__(audience)
        self._last = -1
        """The item last sent."""
        self._rounds: tuple[list[int], list[int]] = [], []
        """Heaps of the items that are waited for, those of this round and those of the next."""
        self._queued: set[int] = set()

    def choose(self, time_s: float) -> int | None:  # noqa: ARG002 (the choice depends on no time)
        this_round, next_round = self._rounds
        first = self._top(this_round)
        return self._top(next_round) if first is None else first

    def sent(self, item: int, time_s: float) -> list[int]:
        """Move the pointer to the item, also if others before it were asked for while it was sent."""
        this_round, next_round = self._rounds
        if item > self._last:
            _move(this_round, next_round, item)
        else:
            passed: list[int] = []
            _move(next_round, passed, item)
            for other in this_round:
                heappush(next_round, other)
            self._rounds = next_round, passed
        self._last = item
        return super().sent(item, time_s)

    def _rank(self, item: int) -> None:
        if self.audience.requests[item] and item not in self._queued:
            self._queued.add(item)
            heappush(self._rounds[item <= self._last], item)

    def _top(self, heap: list[int]) -> int | None:
        while heap:
            if self.audience.requests[heap[0]]:
                return heap[0]
            self._queued.remove(heappop(heap))
        return None


def _move(source: list[int], target: list[int], item: int) -> None:
    """Move the numbers up to an item's from one heap to another."""
    while source and source[0] <= item:
        heappush(target, heappop(source))
