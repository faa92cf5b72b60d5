"""Expected gain: the most freshness that a sending is expected to bring, for what it costs."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import ClassVar, Self

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.ranking import Ranking
from bestbefore.policies.dissemination.scheduler import Scheduler

DOWNLOADER = 0.05
"""What a downloader is worth beside a subscriber. A copy is worth to a subscriber the mean time between changes, to a
downloader no more than the time by which it gets it sooner, a few days of 75 in the simulated case. With this value
subscribers are as fresh as under R/Q, and as many downloaders are complete in a week; a greater one serves downloaders
first. Fitted to these."""


@cache
def worth(pages: int, stale: int) -> float:
    """What sending an item of n equal pages now is worth, k of them stale: k - (n - k) (1/n + ... + 1/(n - k + 1)).

    The unit is one page kept fresh for the mean time between its changes, 1/lambda. Sending gains k of these. But an
    item sent now is not sent when more of it is stale. Let a sending cost nu, and let an item be sent whenever k of its
    pages are stale: a round takes T_k = sum over j < k of 1 / ((n - j) lambda), has pages fresh for k / lambda in sum,
    and so earns (k / lambda - nu) / T_k. The worth is the nu at which k and k + 1 earn the same, Whittle's index: at a
    lower price it is best to send now, at a higher one to wait. It is 1 for an item of one page; with many pages it
    begins like k^2 / 2n, so that a few stale ones are worth little.
    """
    return stale - (pages - stale) * sum(1.0 / (pages - j) for j in range(stale))


class ExpectedGain(Scheduler):
    """Sends the item of the greatest worth, summed over its clients and divided by the size of the item.

    A subscriber is worth 1, in equal parts for each page that it asked for: that is what freshness over clients counts.
    A first copy is worth all its pages. Worth lasts for the mean time between changes of a page, under a Poisson law no
    less when the last change is long ago.

    Unless the times are given, they follow from the changes since the start, of which each page counts one more: an
    item of n pages and c changes has n / (n + c) of the time since then, which is the same for all items and left out.
    """

    name = "gain"

    over_data: ClassVar[bool] = False
    """Whether a subscriber is worth 1 for each page."""

    def __init__(
        self, audience: Audience, *, intervals_s: Sequence[float] | None = None, downloader: float = DOWNLOADER
    ) -> None:
        """Rank by the changes seen, or by known intervals.

        `intervals_s` gives the mean time between changes of each item, of any of its pages, where it is known, or where
        the items have been observed for different times.
        """
        super().__init__(audience)
        self._downloader = downloader
        self._intervals_s = intervals_s
        self._changes = [0] * len(audience.pages)
        self._parts: dict[int, float] = {}
        """What a page is worth to each client."""
        self._held = [0.0] * len(audience.pages)
        """What a page of each item is worth to its holders."""
        self._missing = [0.0] * len(audience.pages)
        """The same for those that wait for a first copy."""
        self._items = Ranking()

    @classmethod
    def with_intervals(cls, audience: Audience, intervals_s: Sequence[float]) -> Self:
        return cls(audience, intervals_s=intervals_s)

    def subscribe(
        self, client: int, items: Collection[int], time_s: float, *, held: Collection[int] = frozenset()
    ) -> None:
        self._enter(client, items, held, 1.0)
        super().subscribe(client, items, time_s, held=held)

    def download(self, client: int, items: Collection[int], time_s: float) -> None:
        self._enter(client, items, (), self._downloader)
        super().download(client, items, time_s)

    def leave(self, client: int) -> None:
        part = self._parts.pop(client)
        for item in self.audience.asker(client).items:
            if client in self.audience.first_copies(item):
                self._missing[item] -= part
            elif client in self.audience.holders(item):
                self._held[item] -= part
        super().leave(client)

    def changed(self, item: int, time_s: float, page: int = 0) -> None:
        self._changes[item] += 1
        super().changed(item, time_s, page)

    def sent(self, item: int, time_s: float) -> list[int]:
        for client in self.audience.first_copies(item):
            if self.audience.asker(client).stays:
                self._held[item] += self._parts[client]
        self._missing[item] = 0.0
        complete = super().sent(item, time_s)
        for client in complete:
            del self._parts[client]
        return complete

    def choose(self, time_s: float) -> int | None:  # noqa: ARG002 (the choice depends on no time)
        # A change of a page that is stale already only lowers a score: the item is ranked again when it comes first.
        while (first := self._items.first()) is not None:
            (negative, _), item = first
            if -negative == self.score(item):
                return item
            self._rank(item)
        return None

    def score(self, item: int) -> float:
        """What sending an item now is worth, for its size."""
        pages = self.audience.pages[item]
        stale = self.audience.stale[item].bit_count()
        clients = self._held[item] * worth(pages, stale) + self._missing[item] * pages
        interval = 1.0 / (pages + self._changes[item]) if self._intervals_s is None else self._intervals_s[item]
        return clients * pages * interval / self.audience.sizes[item]

    def _enter(self, client: int, items: Collection[int], held: Collection[int], value: float) -> None:
        asked, has = set(items), set(held)
        part = value if self.over_data else value / sum(self.audience.pages[item] for item in asked)
        self._parts[client] = part
        for item in asked:
            (self._held if item in has else self._missing)[item] += part

    def _rank(self, item: int) -> None:
        if self.audience.requests[item]:
            self._items.put(item, (-self.score(item), self.audience.tie[item]))
        else:
            self._items.discard(item)


class ExpectedGainOverData(ExpectedGain):
    """The same for freshness over data, in which each page of a client counts alike, however many it asked for."""

    name = "gain_data"
    over_data = True
