"""The queue of a site: who waits for what, and what is sent next, by a scheduler. Pure: time is an argument."""

from collections.abc import Sequence
from typing import NamedTuple

from bestbefore.addon.hub.catalogue import Catalogue, CatalogueItem, Need
from bestbefore.addon.hub.wire.subscription import SubscriberKind, Subscription, matches
from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.table import SCHEDULERS

HEAD_BYTES = 1024
"""What an object costs beside its content, about."""


class Waiting(NamedTuple):
    """What one subscriber has and waits for."""

    subscription: Subscription
    objects: int
    """How many objects match its patterns."""
    waiting: int
    """How many of these it waits for."""
    waiting_bytes: int
    matches: tuple[int, ...]
    """How many objects match each of its patterns."""
    stale_since_s: tuple[float, ...]
    """Since when the hub has known that it lacks each of those; of what was never sent, since now."""


class Queue:
    """The items that subscribers wait for.

    The scheduler is remade when subscribers or items come or go, from what was sent and from where on each
    subscriber has read everything.
    """

    def __init__(self, scheduler: str, catalogue: Catalogue, vouch_s: float) -> None:
        self._make = SCHEDULERS[scheduler]
        self.scheduler = scheduler
        self.catalogue = catalogue
        self.subscriptions: Sequence[Subscription] = ()
        self._vouch_s = vouch_s
        self._scheduler = self._make(Audience())
        self._intervals_s: list[float] = []
        """The mean time between updates of each item, which the scheduler reads too."""
        self._marked: set[int] = set()
        """The items that the scheduler knows as changed."""

    def rebuild(self, subscriptions: Sequence[Subscription], now_s: float) -> None:
        """Make the scheduler for these subscriptions."""
        self.subscriptions = subscriptions
        items = self.catalogue.items
        sizes = [HEAD_BYTES + (0 if item.offer is None else item.offer.size_bytes) for item in items]
        audience = Audience([1] * len(items), sizes, per_page=False)
        self._intervals_s = [item.interval_s for item in items]
        self._scheduler = self._make.with_intervals(audience, self._intervals_s)
        self._marked = set()
        for item in items:
            self._mark(item, now_s)
        for client, subscription in enumerate(subscriptions):
            wanted = [item for item in items if subscription.is_wanted(item.target)]
            missing = [item.number for item in wanted if item.is_missing(subscription.since)]
            if subscription.kind is SubscriberKind.DOWNLOADER:
                if missing:
                    self._scheduler.download(client, missing, now_s)
            elif wanted:
                asked = {item.number for item in wanted}
                self._scheduler.subscribe(client, asked, now_s, held=asked.difference(missing))

    def changed(self, item: CatalogueItem, now_s: float) -> None:
        """Note that what the hub has of an item may have changed; not for an item that the scheduler does not know."""
        if item.number < len(self._intervals_s):
            self._intervals_s[item.number] = item.interval_s
            self._mark(item, now_s)

    def _mark(self, item: CatalogueItem, now_s: float) -> None:
        if item.number not in self._marked and self._need(item, now_s) is not Need.NOTHING:
            self._marked.add(item.number)
            self._scheduler.changed(item.number, now_s if item.stale_since_s is None else item.stale_since_s)

    def choose(self, now_s: float) -> tuple[CatalogueItem, Need] | None:
        """Return the item to send next, and what of it; None if no subscriber waits for any."""
        while (number := self._scheduler.choose(now_s)) is not None:
            item = self.catalogue.items[number]
            need = self._need(item, now_s)
            if any(item.is_missing(one.since) and one.is_wanted(item.target) for one in self.subscriptions):
                need = Need.ALL
            if need is not Need.NOTHING:
                return item, need
            self.sent(item, now_s)  # what was to be sent of it is gone
        return None

    def sent(self, item: CatalogueItem, now_s: float) -> None:
        """Note that an item was sent; it may have changed meanwhile."""
        self._scheduler.sent(item.number, now_s)
        self._marked.discard(item.number)
        self._mark(item, now_s)

    def complete(self) -> list[Subscription]:
        """Return the downloaders that have been sent all they asked for."""
        return [
            one for one in self.subscriptions
            if one.kind is SubscriberKind.DOWNLOADER
            and not any(item.is_missing(one.since) and one.is_wanted(item.target) for item in self.catalogue.items)
        ]  # fmt: skip

    def waiting_items(self, now_s: float) -> list[CatalogueItem]:
        """Return the items whose content is waited for."""
        return [
            item for item in self.catalogue.items
            if self._need(item, now_s) is Need.ALL
            or any(item.is_missing(one.since) and one.is_wanted(item.target) for one in self.subscriptions)
        ]  # fmt: skip

    def waiting(self, subscription: Subscription, now_s: float) -> Waiting:
        """Return what a subscriber has and waits for."""
        offered = [item for item in self.catalogue.items if item.offer is not None]
        wanted = [item for item in offered if subscription.is_wanted(item.target)]
        waiting = [
            item for item in wanted
            if item.is_missing(subscription.since)
            or (subscription.kind is SubscriberKind.SUBSCRIBER and self._need(item, now_s) is Need.ALL)
        ]  # fmt: skip
        counts = (sum(matches(pattern, item.target) for item in wanted) for pattern in subscription.patterns)
        size_bytes = sum(item.offer.size_bytes for item in waiting if item.offer is not None)
        since_s = (now_s if item.stale_since_s is None else item.stale_since_s for item in waiting)
        return Waiting(subscription, len(wanted), len(waiting), size_bytes, tuple(counts), tuple(since_s))

    def _need(self, item: CatalogueItem, now_s: float) -> Need:
        return item.need(now_s - self._vouch_s)
