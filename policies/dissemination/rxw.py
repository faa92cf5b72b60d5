"""RxW: many requests, and one that has waited long."""

from bisect import insort

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.ranking import Ranking
from bestbefore.policies.dissemination.scheduler import Scheduler


class RequestsByWait(Scheduler):
    """Sends the item with the greatest R x W: W is how long the client that has waited longest for the item has waited.

    All scores change all the time, but among items of equal R the one that is waited for longest stays the best. So
    there is one ranking for each R that occurs, and a choice compares their first items, from the greatest R down until
    even the longest wait of all could not make up for the smaller R.

    Source: Lam, Garcia-Molina, section 3, "RxW", after Aksoy, Franklin, "RxW: a scheduling approach for large-scale
    on-demand data broadcast", which gives the bound.
    """

    name = "rxw"

    def __init__(self, audience: Audience) -> None:
        super().__init__(audience)
        self._by_requests: dict[int, Ranking] = {}
        self._numbers: list[int] = []
        """Each R that occurs, ascending."""
        self._ranked: dict[int, int] = {}
        """The R by which each item is ranked."""
        self._oldest = Ranking()
        """All items by the time since when they are waited for."""

    def choose(self, time_s: float) -> int | None:
        oldest = self._oldest.first()
        if oldest is None:
            return None
        longest_s = time_s - oldest[0][0]
        best: tuple[float, float, int] | None = None
        for requests in reversed(self._numbers):
            if best is not None and requests * longest_s < -best[0]:
                break
            first = self._by_requests[requests].first()
            if first is not None:
                (since_s, tie), item = first
                score = (-requests * (time_s - since_s), tie, item)
                best = score if best is None else min(best, score)
        return best and best[2]

    def _rank(self, item: int) -> None:
        requests, before = self.audience.requests[item], self._ranked.get(item, 0)
        if before and before != requests:
            self._by_requests[before].discard(item)
            if not self._by_requests[before]:
                del self._by_requests[before]
                self._numbers.remove(before)
        if not requests:
            self._ranked.pop(item, None)
            self._oldest.discard(item)
            return
        self._ranked[item] = requests
        if requests not in self._by_requests:
            self._by_requests[requests] = Ranking()
            insort(self._numbers, requests)
        key = (self.audience.since_s[item], self.audience.tie[item])
        self._by_requests[requests].put(item, key)
        self._oldest.put(item, key)
