"""R/Q: many requests, and a client that needs little else."""

from collections.abc import Collection

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.ranking import Ranking
from bestbefore.policies.dissemination.scheduler import Scheduler


class RequestsByQueue(Scheduler):
    """Sends the item with the greatest R/Q: Q is the smallest number of items that a client of the item waits for.

    R/Q of an item is the greatest R/q of its clients, q what each waits for. So the greatest of all is the greatest,
    over the clients, of the greatest R among a client's items by its q: one ranking of items for each client, and one
    of the clients. An event then costs O(log n) for each client that waits for the item, and not for each item that
    such a client waits for, whose Q changes too.

    Source: Lam, Garcia-Molina, section 3, "R/Q", figure 2.
    """

    name = "rq"

    def __init__(self, audience: Audience, *, queue_in_pages: bool = False) -> None:
        """With `queue_in_pages`, q counts the pages that a client needs, not the items."""
        super().__init__(audience)
        self._items: dict[int, Ranking] = {}
        self._clients = Ranking()
        self._queue_in_pages = queue_in_pages
        self._pages: dict[int, int] = {}

    def subscribe(
        self, client: int, items: Collection[int], time_s: float, *, held: Collection[int] = frozenset()
    ) -> None:
        pages, stale, has = self.audience.pages, self.audience.stale, set(held)
        self._admit(client, sum(stale[item].bit_count() if item in has else pages[item] for item in set(items)))
        super().subscribe(client, items, time_s, held=held)

    def download(self, client: int, items: Collection[int], time_s: float) -> None:
        self._admit(client, sum(self.audience.pages[item] for item in set(items)))
        super().download(client, items, time_s)

    def leave(self, client: int) -> None:
        del self._items[client], self._pages[client]
        self._clients.discard(client)
        super().leave(client)

    def changed(self, item: int, time_s: float, page: int = 0) -> None:
        if not self.audience.stale[item] >> page & 1:
            for client in self.audience.holders(item):
                self._pages[client] += 1
        super().changed(item, time_s, page)

    def sent(self, item: int, time_s: float) -> list[int]:
        clients = list(self.audience.waiting(item))
        for client in clients:
            self._pages[client] -= self.audience.lacks(client, item)
        complete = super().sent(item, time_s)
        for client in clients:
            self._items[client].discard(item)
            self._rank_client(client)
        for client in complete:
            del self._items[client], self._pages[client]
        return complete

    def choose(self, time_s: float) -> int | None:  # noqa: ARG002 (the choice depends on no time)
        first = self._clients.first()
        return None if first is None else int(first[0][-1])

    def _rank(self, item: int) -> None:
        audience = self.audience
        key = (-audience.requests[item], audience.tie[item])
        for client in audience.waiting(item):
            self._items[client].put(item, key)
            self._rank_client(client)

    def _rank_client(self, client: int) -> None:
        items = self._items[client]
        first = items.first()
        if first is None:
            self._clients.discard(client)
            return
        (negative, tie), item = first
        queue = self._pages[client] if self._queue_in_pages else len(items)
        self._clients.put(client, (negative / queue, tie, item))

    def _admit(self, client: int, pages: int) -> None:
        self._items[client] = Ranking()
        self._pages[client] = pages
