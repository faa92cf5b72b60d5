"""Popularity: the item that most clients wait for."""

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.ranking import Ranking
from bestbefore.policies.dissemination.scheduler import Scheduler


class Popularity(Scheduler):
    """Sends the item with the greatest R.

    Source: Lam, Garcia-Molina, section 3, "Popularity".
    """

    name = "pop"

    def __init__(self, audience: Audience) -> None:
        super().__init__(audience)
        self._items = Ranking()

    def choose(self, time_s: float) -> int | None:  # noqa: ARG002 (the choice depends on no time)
        first = self._items.first()
        return first and first[1]

    def _rank(self, item: int) -> None:
        if requests := self.audience.requests[item]:
            self._items.put(item, (-requests, self.audience.tie[item]))
        else:
            self._items.discard(item)
