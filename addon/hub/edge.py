"""The companion of a proxy that takes copies from a hub's channel."""

import asyncio
import hashlib
import logging
import socket
from contextlib import suppress

from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.hub.intake import UNFIT, Intake
from bestbefore.addon.hub.receiver import Received, Receiver, RefusedMessage
from bestbefore.addon.hub.status import notices
from bestbefore.addon.hub.wire import position as positions
from bestbefore.addon.hub.wire.channel import SiteChannel, StreamEntry
from bestbefore.addon.hub.wire.link import RETRY_S, ChannelLink
from bestbefore.addon.hub.wire.message import Beat, Complete, MalformedMessageError, Object, Taken
from bestbefore.addon.hub.wire.position import ReadPosition, place_of
from bestbefore.addon.hub.wire.signature import read_key
from bestbefore.addon.hub.wire.subscription import SubscriberKind, Subscription
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Target

logger = logging.getLogger(__name__)

LEASE_S = 30.0
"""How long a subscription lasts after the death of its edge."""
RENEW_INTERVAL_S = 10.0
READ_WAIT_S = 5.0
"""How long a read waits for a message."""
LEAVE_S = 2.0
"""How long an edge that stops waits for its subscription to end. All in real seconds."""


class Edge(Companion):
    """A subscriber of a channel, if the configuration makes the proxy one."""

    def __init__(self, service: Service) -> None:
        """Raises InputError if the key cannot be read."""
        self._service = service
        self._settings = settings = service.config.hub
        self._link: ChannelLink | None = None
        if settings.is_edge:
            assert settings.channel is not None
            assert settings.key is not None
            self._key = read_key(settings.key)
            self._link = ChannelLink(settings.channel, "bestbefore-edge")
        # The same after a crash, so that the lease is taken over at once; another for a copy of the state folder.
        place = f"{socket.gethostname()} {service.settings.state}"
        self._holder = hashlib.blake2b(place.encode(errors="surrogateescape"), digest_size=8).hexdigest()
        self._subscription: Subscription | None = None
        self._renew = asyncio.Event()
        self._is_held = asyncio.Event()
        """Set while the subscription's lease is ours."""
        self._beats = 0
        """How many heartbeats have named the subscription."""
        self._has_beaten = False
        """Whether the coverage was set since it was last passed on."""
        self._intake: Intake | None = None
        self._is_complete = False
        """Whether a downloader has everything."""

    async def start(self) -> None:
        """Begin to read the channel."""
        if self._link is not None:
            settings, shown = self._settings, self._link.connection.shown
            patterns = ", ".join(map(str, settings.download or settings.subscribe))
            kind = "downloading" if settings.download else "subscribing to"
            logger.info("%s %s from the channel %s, site %s", kind, patterns, shown, settings.site)
            await self._link.start(self._read)

    async def close(self) -> None:
        """End the subscription."""
        if self._link is None:
            return
        if self._subscription is not None:
            with suppress(Exception):
                async with asyncio.timeout(LEAVE_S):
                    await self._channel.unsubscribe(self._subscription)
        await self._link.close()

    async def _read(self) -> None:
        service, settings, link = self._service, self._settings, self._link
        if link is None or self._is_complete:
            await asyncio.Event().wait()
            return
        self._channel = SiteChannel(link.connection, settings.site)
        name = hashlib.blake2b(f"{link.connection.shown} {settings.site}".encode(), digest_size=8).hexdigest()
        known = positions.decode(await service.store.positions.get(name), name)
        if known is None:
            last = await self._channel.last()
            known = ReadPosition(name, last, "", (0, 0), place_of(last) + 1)
        most_bytes = service.site.max_cached_body
        self._receiver = Receiver(self._key, settings.site, known, 2 * most_bytes)
        before = self._intake
        self._intake = Intake(
            service.store, service.clock, lambda: service.config.rules, most_bytes, self._is_wanted
        )
        if before is not None:  # the channel was away
            self._intake.changed = before.changed
        self._subscription = self._subscribed()
        renewing = asyncio.create_task(self._renew_on())
        try:
            while not self._is_complete:
                await self._is_held.wait()
                if renewing.done():
                    await renewing  # it failed
                for entry in await self._channel.read(self._receiver.position.entry, READ_WAIT_S):
                    await self._take_entry(entry)
                await self._settle()
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        await self._channel.unsubscribe(self._subscription)

    def _subscribed(self) -> Subscription:
        settings = self._settings
        kind = SubscriberKind.DOWNLOADER if settings.download else SubscriberKind.SUBSCRIBER
        patterns = tuple(map(str, settings.download or settings.subscribe))
        since = self._receiver.position.since
        return Subscription(self._service.site.name, settings.site, kind, patterns, since, self._holder)

    def _is_wanted(self, target: Target) -> bool:
        return self._subscription is not None and self._subscription.is_wanted(target)

    async def _renew_on(self) -> None:
        """Renew the lease until cancelled, and at once when what it says has changed."""
        has_said = False
        try:
            while True:
                self._renew.clear()
                assert self._subscription is not None
                if await self._channel.subscribe(self._subscription, self._key, LEASE_S):
                    self._is_held.set()
                elif not has_said:
                    has_said = True
                    self._is_held.clear()
                    name = self._subscription.name
                    logger.warning("another process takes part in the channel as %s; waiting until it ends", name)
                with suppress(TimeoutError):
                    async with asyncio.timeout(RENEW_INTERVAL_S if self._is_held.is_set() else RETRY_S):
                        await self._renew.wait()
        finally:
            self._is_held.set()  # so that the error is seen

    async def _settle(self) -> None:
        """Store the position, and pass on what was read, after what was read up to it is in the store."""
        service = self._service
        settled, store = self._receiver.settled, service.store
        if await store.flush():
            await store.positions.put(settled.channel, positions.encode(settled))
            changed = () if self._intake is None else self._intake.take_changed()
            if changed or self._has_beaten:
                self._has_beaten = False
                service.state.coverage.pass_on(changed)

    async def _take_entry(self, entry: StreamEntry) -> None:
        metrics = self._service.metrics.hub
        received = self._receiver.receive(entry, self._service.clock.now())
        if received.refused is not None:
            metrics.refused.labels(received.refused).inc()
            logger.log(
                logging.DEBUG if received.refused is RefusedMessage.REPLAYED else logging.WARNING,
                "a message of the channel is not used: %s", received.refused,
            )  # fmt: skip
        if received.lost:
            metrics.gaps.inc()
            logger.warning(
                "messages of the channel were lost before they were read: origins are asked again for the objects "
                "that were in them, until the hub sends these again"
            )
        if self._subscription is not None and self._receiver.position.since != self._subscription.since:
            self._subscription = self._subscribed()
            self._renew.set()
        if received.content is not None:
            await self._take_content(received)

    async def _take_content(self, received: Received) -> None:
        metrics, intake = self._service.metrics.hub, self._intake
        assert intake is not None
        match received.content:
            case Object() as carried:
                try:
                    result = await intake.take(carried, (received.channel, received.place))
                except MalformedMessageError as error:
                    self._receiver.is_broken = True
                    logger.warning("the channel brings what this version cannot read: %s", error)
                    metrics.refused.labels(RefusedMessage.MALFORMED).inc()
                    return
                if result == UNFIT:
                    metrics.refused.labels(RefusedMessage.UNFIT).inc()
                else:
                    metrics.received.labels(result).inc()
            case Taken(urls):
                await intake.take_back(urls)
                metrics.received.labels("notice").inc()
            case Beat() as beat:
                await self._take_beat(beat, received.channel)
                metrics.received.labels("heartbeat").inc()
            case Complete(lease, objects):
                if self._subscription is not None and lease == self._subscription.token:
                    logger.info("everything that was asked of the hub has arrived: %d objects", objects)
                    self._is_complete = self._subscription.kind is SubscriberKind.DOWNLOADER
                    self._cover(None)

    async def _take_beat(self, beat: Beat, channel: str) -> None:
        """Take copies for current, as the heartbeat allows."""
        now_s = self._service.clock.now()
        self._service.metrics.hub.behind_s.set(max(0.0, now_s - beat.announced_until_s))
        is_ours = self._subscription is not None and self._subscription.token in beat.leases
        coverage = None
        if is_ours and not self._receiver.is_broken:
            until_s = beat.announced_until_s + self._settings.max_behind
            coverage = Coverage(channel, self._receiver.position.since, until_s)
        self._cover(coverage)
        self._beats += is_ours
        if self._beats == 2:  # the hub has reported on the queue after the first
            await self._say_notices()

    def _cover(self, coverage: Coverage | None) -> None:
        self._service.state.coverage.cover(coverage)
        self._has_beaten = True

    async def _say_notices(self) -> None:
        self._beats += 1
        status = await self._channel.status()
        if status is not None and self._subscription is not None:
            for text in notices(status, self._subscription.name):
                logger.warning("%s", text)
