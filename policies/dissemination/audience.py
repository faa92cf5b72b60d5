"""Who waits for what: the clients of a channel, and what each item has changed since it was last sent."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

_NO_CLIENTS: dict[int, float] = {}


class Asker(NamedTuple):
    """A client of the channel."""

    items: frozenset[int]
    """All that it asked for."""
    stays: bool
    """Whether it is a subscriber, which waits again for each item that changes; else a downloader, which waits for one
    copy of each item and then leaves."""


class Audience:
    """The clients that wait for each item, in numbers that each event changes in O(1) whatever the number of clients.

    An item is what is sent at once: one or more pages that change one by one. One sending reaches all clients, so all
    that hold a copy of an item hold the same: a page that has changed since is stale for each of them, and a change
    needs no more than the number of holders. Only the clients that wait for their first copy, new subscribers and
    downloaders, are listed one by one.

    Items are numbered from 0, clients by any ints; times are seconds and never go back.
    """

    def __init__(
        self,
        pages: Sequence[int] = (),
        sizes: Sequence[float] | None = None,
        *,
        per_page: bool = True,
        ties: np.random.Generator | None = None,
    ) -> None:
        """An audience without clients, for items of so many pages, and of so much to send (by default their pages).

        With `per_page`, R counts a client once for each page that it needs (section 4.1 of the paper), else once for
        the item. Among equal scores the item that is waited for longest comes first, with `ties` one drawn at random.
        """
        self.pages = list(pages)
        self.sizes: list[float] = list(pages if sizes is None else sizes)
        """What sending an item costs, in any unit above 0. Only `gain` reads it; the paper's items are equal."""
        self.requests = [0] * len(self.pages)
        """R of each item: the clients that wait for it, each counted by the pages that it needs or once."""
        self.since_s = [0.0] * len(self.pages)
        """Since when an item has been waited for, by the client that has waited longest; meaningless where R = 0."""
        self.stale = [0] * len(self.pages)
        """The pages of each item that changed since it was sent: bit p is page p."""
        self._stale_since_s = [0.0] * len(self.pages)
        self._holders: dict[int, set[int]] = {}
        self._first_copies: dict[int, dict[int, float]] = {}
        self._askers: dict[int, Asker] = {}
        self._left: dict[int, int] = {}
        self._per_page = per_page
        self._ties = ties
        self.tie = self.since_s if ties is None else [0.0] * len(self.pages)
        """What ranks items of equal score, the least first."""

    def subscribe(
        self, client: int, items: Collection[int], time_s: float, *, held: Collection[int] = frozenset()
    ) -> None:
        """A new client wants the items and each of their changes, until it leaves.

        Of the items `held` it has a copy as last sent, or as it was at the start, and waits for what has changed since
        then, as if from the change on. Of the others it waits for a first copy.
        """
        self._enter(client, Asker(frozenset(items), stays=True))
        has = frozenset(held)
        for item in self._askers[client].items:
            if item in has:
                self._holders.setdefault(item, set()).add(client)
                self._ask(item, self._needed(item), self._stale_since_s[item])
            else:
                self._want(client, item, time_s)

    def download(self, client: int, items: Collection[int], time_s: float) -> None:
        """A new client wants one copy of each item, and leaves with the last; it asks for at least one."""
        self._enter(client, Asker(frozenset(items), stays=False))
        self._left[client] = len(self._askers[client].items)
        for item in self._askers[client].items:
            self._want(client, item, time_s)

    def leave(self, client: int) -> frozenset[int]:
        """Remove a client; the items that it asked for."""
        items = self._askers.pop(client).items
        self._left.pop(client, None)
        for item in items:
            waiting = self._first_copies.get(item, _NO_CLIENTS)
            if waiting.pop(client, None) is not None:
                self.requests[item] -= self.pages[item] if self._per_page else 1
            elif client in self._holders.get(item, ()):
                self._holders[item].remove(client)
                self.requests[item] -= self._needed(item)
            if self.requests[item]:
                stale = self.stale[item] and self._holders.get(item)
                times = [self._stale_since_s[item]] if stale else []
                self.since_s[item] = min(times + list(waiting.values())[:1])
        return items

    def changed(self, item: int, time_s: float, page: int = 0) -> bool:
        """A page of the item changed; whether holders had it current until now."""
        stale, bit = self.stale[item], 1 << page
        if stale & bit:
            return False
        if not stale:
            self._stale_since_s[item] = time_s
        self.stale[item] = stale | bit
        holders = self._holders.get(item)
        if holders and (self._per_page or not stale):
            self._ask(item, len(holders), time_s)
        return True

    def sent(self, item: int) -> list[int]:
        """The item went out to all clients; the downloaders that have all they asked for by it, and are removed."""
        self.stale[item] = self.requests[item] = 0
        complete = []
        for client in self._first_copies.pop(item, _NO_CLIENTS):
            if self._askers[client].stays:
                self._holders.setdefault(item, set()).add(client)
                continue
            self._left[client] -= 1
            if not self._left[client]:
                complete.append(client)
                del self._left[client], self._askers[client]
        return complete

    def waiting(self, item: int) -> Iterator[int]:
        """The clients that wait for an item."""
        if self.stale[item]:
            yield from self._holders.get(item, ())
        yield from self._first_copies.get(item, _NO_CLIENTS)

    def holders(self, item: int) -> Collection[int]:
        """The subscribers that have a copy of an item, the one last sent."""
        return self._holders.get(item, ())

    def first_copies(self, item: int) -> Collection[int]:
        """The clients that wait for a first copy of an item, the longest first."""
        return self._first_copies.get(item, _NO_CLIENTS).keys()

    def asker(self, client: int) -> Asker:
        """What a client asked for."""
        return self._askers[client]

    def lacks(self, client: int, item: int) -> int:
        """The pages of an item that a client of it needs: the stale ones of a copy, or all, or none."""
        if client in self._first_copies.get(item, _NO_CLIENTS):
            return self.pages[item]
        return self.stale[item].bit_count() if client in self._holders.get(item, ()) else 0

    def _enter(self, client: int, asker: Asker) -> None:
        if client in self._askers:
            raise ValueError(f"client {client} is on the channel already")
        if not asker.items:
            raise ValueError(f"client {client} asks for no item")
        self._askers[client] = asker

    def _needed(self, item: int) -> int:
        """What one holder adds to R."""
        stale = self.stale[item]
        return stale.bit_count() if self._per_page else int(stale > 0)

    def _want(self, client: int, item: int, time_s: float) -> None:
        self._first_copies.setdefault(item, {})[client] = time_s
        self._ask(item, self.pages[item] if self._per_page else 1, time_s)

    def _ask(self, item: int, requests: int, time_s: float) -> None:
        if not requests:
            return
        if not self.requests[item]:
            self.since_s[item] = time_s
            if self._ties is not None:
                self.tie[item] = self._ties.random()
        elif time_s < self.since_s[item]:
            self.since_s[item] = time_s
        self.requests[item] += requests
