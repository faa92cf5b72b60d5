"""The publisher of one site: sends what its subscribers wait for, within the bandwidth."""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bestbefore.addon.admin.hub_metrics import HubMetrics
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.hub_section import HubSettings
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.hub.catalogue import Catalogue, CatalogueItem, Need, Offered, Sent, encode_sent
from bestbefore.addon.hub.packing import packed, why_not_sent
from bestbefore.addon.hub.queue import Queue
from bestbefore.addon.hub.sender import LostLeaseError, Sender
from bestbefore.addon.hub.status import status_of
from bestbefore.addon.hub.wire.channel import SiteChannel
from bestbefore.addon.hub.wire.message import Beat, Complete, Piece, Taken, batches, pieces
from bestbefore.addon.hub.wire.position import place_of
from bestbefore.addon.hub.wire.subscription import Subscription
from bestbefore.addon.prefetcher.eligibility import MIN_REQUESTS
from bestbefore.addon.proxy.access.reach import range_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.backend.keys import variant_of
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import HOUR_S

logger = logging.getLogger(__name__)

LEASE_S = 10.0
"""How long the lease to publish lasts after the death of its holder."""
FOLLOW_INTERVAL_S = 1.0
"""How often subscriptions are read, and the scheduler is remade at most. Both in real seconds."""
REPORT_INTERVAL_S = 1.0
REPORT_PART = 50.0
"""The least time between reports on the queue, real seconds, and as a multiple of what a report takes."""
REPORT_LIVES_S = 60.0
"""How long a report is shown after the publisher has ended, real seconds."""


@dataclass(slots=True)
class _Outgoing:
    """An object that is being sent."""

    item: CatalogueItem
    offer: Offered
    need: Need
    left: deque[Piece]
    first: str = ""
    """The entry of its first piece; empty before that."""


@dataclass(slots=True, eq=False)
class Publisher:
    """Publishes on the channel of one site until it is cancelled."""

    channel: SiteChannel
    name: str
    """The name of the hub, which stays the same over restarts."""
    key: bytes
    settings: HubSettings
    clock: Clock
    store: Store
    most_bytes: int
    """The largest content that is sent."""
    metrics: HubMetrics
    counts_demand: Callable[[], bool]
    """Whether prefetches are planned by demand."""
    queue: Queue | None = field(init=False, default=None)
    """None before it publishes."""
    _holder: str = field(init=False, default_factory=lambda: secrets.token_hex(8))
    _contacted: dict[str, float] = field(init=False, default_factory=dict)
    """The objects to look at, and since when."""
    _wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _outgoing: _Outgoing | None = field(init=False, default=None)
    _is_new: bool = field(init=False, default=False)
    """Whether there are items that the scheduler does not know."""
    _report_at_s: float = field(init=False, default=0.0)
    """When the next report is due, by the monotonic clock."""
    _demand_at_s: float = field(init=False, default=0.0)
    """When demand is counted next, policy time."""
    _completed: set[bytes] = field(init=False, default_factory=set)
    """The downloaders that were sent a message that they have everything."""

    def note_contact(self, url: str) -> None:
        """Look at the copies of an object again: an origin was contacted for it."""
        if self.queue is not None:  # else all objects are looked at when it is made
            self._contacted.setdefault(url, self.clock.now())
            self._wake.set()

    async def run(self) -> None:
        """Publish until cancelled, or until another process does. Raises the errors of the store."""
        is_waiting = False
        while not await self.channel.hold(self._holder, LEASE_S):
            if not is_waiting:
                logger.warning("another hub publishes for the site %s; waiting until it ends", self.channel.site)
            is_waiting = True
            await asyncio.sleep(LEASE_S / 10)
        try:
            await self._publish()
        except LostLeaseError:
            logger.warning("another hub publishes for the site %s now", self.channel.site)
        finally:
            self.queue = None
            with suppress(Exception):
                await self.channel.release(self._holder)

    async def _publish(self) -> None:
        settings, self._outgoing = self.settings, None
        sender = Sender(
            self.channel, self.name, self._holder, self.key, self.clock, self.metrics,
            bytes_per_s=settings.bandwidth, retain_bytes=settings.retain,
        )  # fmt: skip
        await sender.begin()
        catalogue = Catalogue(await self.channel.sent())
        queue = self.queue = Queue(settings.scheduler, catalogue, settings.vouch)
        followed_s = rebuilt_s = beat_s = float("-inf")
        while True:
            self._wake.clear()
            real_s = self.clock.monotonic()
            if real_s - followed_s >= FOLLOW_INTERVAL_S:
                followed_s = real_s
                await self._follow(queue)
            known_s = self.clock.now()  # contacts up to here are looked at now
            await self._look(queue)
            self._count_demand(queue)
            if self._is_new and real_s - rebuilt_s >= FOLLOW_INTERVAL_S:
                self._is_new, rebuilt_s = False, real_s
                queue.rebuild(queue.subscriptions, self.clock.now())
            wait_s = self.clock.to_real_s(settings.heartbeat)
            if queue.subscriptions:
                if sender.passed_s() - beat_s >= settings.heartbeat:
                    beat_s = sender.passed_s()
                    await self._take_back(queue, sender)
                    await self._beat(queue, sender, known_s)
                wait_s = min(wait_s, self.clock.to_real_s(await self._send(queue, sender)))
            with suppress(TimeoutError):
                async with asyncio.timeout(min(wait_s, FOLLOW_INTERVAL_S)):
                    await self._wake.wait()

    # What subscribers want, and what the hub has

    async def _follow(self, queue: Queue) -> None:
        """Read the subscriptions; if they have changed, look at all objects that they want."""
        if not await self.channel.hold(self._holder, LEASE_S):
            raise LostLeaseError
        found = await self.channel.subscriptions(self.key)
        if found == queue.subscriptions:
            return
        known = {pattern for one in queue.subscriptions for pattern in one.patterns}
        is_wider = any(pattern not in known for one in found for pattern in one.patterns)
        if is_wider and not await self.store.flush():
            return  # objects that are not written yet would not be found
        gone = queue.catalogue.keep(lambda target: any(one.is_wanted(target) for one in found))
        await self.channel.forget_sent(gone)
        self._outgoing = None  # its number is another's now, and it is chosen again
        if is_wider:
            async for url in self.store.urls():
                if _is_wanted(url, found):
                    await self._refresh(url, queue, self.clock.now())
            self._demand_at_s = 0.0
        queue.rebuild(found, self.clock.now())

    async def _look(self, queue: Queue) -> None:
        """Look at the copies of the objects for which origins were contacted."""
        contacted, self._contacted = self._contacted, {}
        for url, since_s in contacted.items():
            if not _is_wanted(url, queue.subscriptions):
                continue
            is_new = await self._refresh(url, queue, since_s)
            for item in queue.catalogue.of_url(url):
                queue.changed(item, since_s)
                if is_new:
                    self._count(item, queue)
            self._is_new |= is_new

    async def _refresh(self, url: str, queue: Queue, since_s: float) -> bool:
        """Look at the copies of an object, known since a time; whether there are items that were none before."""
        offered, record = await self._offered(url), await self.store.record(url)
        interval_s = HOUR_S if record is None else mean_interval_s(record)
        return queue.catalogue.refreshed(url, offered, since_s, interval_s)

    def _count_demand(self, queue: Queue) -> None:
        """Count the objects that are subscribed to as requested, each hour, so that the plan refreshes them."""
        now_s = self.clock.now()
        if now_s >= self._demand_at_s:
            self._demand_at_s = now_s + HOUR_S
            for item in queue.catalogue.items:
                self._count(item, queue)

    def _count(self, item: CatalogueItem, queue: Queue) -> None:
        if not self.counts_demand() or item.offer is None:
            return
        wanted_by = sum(one.is_wanted(item.target) for one in queue.subscriptions)
        for _ in range(max(MIN_REQUESTS, wanted_by) if wanted_by else 0):
            self.store.planning.want(item.target.url, range_of(item.target.host))

    async def _offered(self, url: str) -> list[Copy]:
        """Return the copies of an object that may be sent."""
        copies = (await self.store.copies(url)).copies
        return [copy for copy in copies if why_not_sent(copy, self.settings.publish, self.most_bytes) is None]

    # Messages

    async def _take_back(self, queue: Queue, sender: Sender) -> None:
        """Send a notice of the objects for which the hub no longer vouches."""
        items = queue.catalogue.to_take(self.clock.now(), self.settings.max_wait, self.settings.vouch)
        by_url: dict[str, list[CatalogueItem]] = {}
        for item in items:
            by_url.setdefault(item.target.url, []).append(item)
        for batch in batches(list(by_url)):
            taken = [item for url in batch for item in queue.catalogue.of_url(url) if item.is_covered()]
            noted = {
                item.key: encode_sent(Sent(0, item.sent.content, item.sent.renewal, is_taken=True))
                for item in taken
                if item.sent is not None
            }
            place = place_of(await sender.send(Taken(batch), "notice", noted))
            for item in taken:
                queue.catalogue.has_taken(item, place)
                queue.changed(item, self.clock.now())

    async def _beat(self, queue: Queue, sender: Sender, known_s: float) -> None:
        """Send a heartbeat, tell downloaders that they have everything, and report on the queue.

        `known_s`: the time up to which contacts have been looked at.
        """
        now_s = self.clock.now()
        tokens = tuple(one.token for one in queue.subscriptions)
        await sender.send(Beat(queue.catalogue.announced_until_s(known_s), tokens), "heartbeat")
        complete = queue.complete()
        for one in complete:
            if one.token not in self._completed:
                await sender.send(Complete(one.token, queue.waiting(one, now_s).objects), "complete")
        self._completed = {one.token for one in complete}
        begun_s = self.clock.monotonic()
        if begun_s >= self._report_at_s:
            status = status_of(queue, now_s, self.settings.bandwidth)
            await self.channel.report(status, REPORT_LIVES_S)
            self.metrics.report(self.channel.site, status)
            ended_s = self.clock.monotonic()
            self._report_at_s = ended_s + max(REPORT_INTERVAL_S, REPORT_PART * (ended_s - begun_s))

    async def _send(self, queue: Queue, sender: Sender) -> float:
        """Send the next piece if the bandwidth allows it; return how long to wait until the next, policy time."""
        wait_s = sender.wait_s()
        if wait_s > 0.0:
            return wait_s
        if self._outgoing is None:
            self._outgoing = await self._next(queue)
        outgoing = self._outgoing
        if outgoing is None:
            return self.settings.heartbeat
        piece = outgoing.left.popleft()
        if outgoing.left:
            entry = await sender.send(piece, "piece", first=outgoing.first)
            outgoing.first = outgoing.first or entry
            return sender.wait_s()
        item, offer = outgoing.item, outgoing.offer
        noted = {item.key: encode_sent(Sent(0, offer.content, offer.renewal))}
        entry = await sender.send(piece, outgoing.need.name.lower(), noted, outgoing.first)
        now_s = self.clock.now()
        queue.catalogue.has_sent(item, offer, place_of(outgoing.first or entry), now_s)
        queue.sent(item, now_s)
        self._outgoing = None
        return sender.wait_s()

    async def _next(self, queue: Queue) -> _Outgoing | None:
        """Return the object to send next, cut into pieces."""
        while (chosen := queue.choose(self.clock.now())) is not None:
            item, need = chosen
            url = item.target.url
            copies = {variant_of(copy): copy for copy in await self._offered(url)}
            copy = copies.get(item.variant)
            with_body = need is Need.ALL
            found = None
            if copy is not None:
                found = await packed(copy, await self.store.record(url), self.store, with_body=with_body)
            if copy is not None and found is not None:
                return _Outgoing(item, Offered.of(copy), need, deque(pieces(found)))
            copies.pop(item.variant, None)  # it is gone, or its content
            queue.catalogue.refreshed(url, copies.values(), self.clock.now(), item.interval_s)
            queue.sent(item, self.clock.now())
        return None


def mean_interval_s(record: Record) -> float:
    """Return the mean time between updates of an object; it counts one more than were seen, and an hour at least."""
    return max(record.last_contact_s - record.since_s, HOUR_S) / (1 + record.n_updates)


def _is_wanted(url: str, subscriptions: Sequence[Subscription]) -> bool:
    try:
        target = Target.parse(url)
    except ValueError:
        return False
    return any(one.is_wanted(target) for one in subscriptions)
