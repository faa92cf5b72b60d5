"""The companion of a proxy that publishes what it refreshes."""

import asyncio
import logging

from bestbefore.addon.errors import InputError
from bestbefore.addon.hub.publisher import Publisher
from bestbefore.addon.hub.wire.channel import SiteChannel, sites
from bestbefore.addon.hub.wire.link import ChannelLink
from bestbefore.addon.hub.wire.signature import read_key
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.service import Service

logger = logging.getLogger(__name__)

SITES_INTERVAL_S = 1.0
"""How often to look for new sites, real seconds."""
MOST_SITES = 256


class Hub(Companion):
    """A publisher for each site."""

    def __init__(self, service: Service) -> None:
        """Raises InputError if the channel or its key is missing."""
        self._service = service
        settings, store = service.config.hub, service.settings.store
        url = settings.channel or (None if store == "embedded" else store)
        if url is None:
            raise InputError("a hub needs a channel: --channel URL of a Redis server that the edges reach too")
        if settings.key is None:
            raise InputError("a hub needs the key of its channel: --channel-key FILE")
        if settings.is_edge:
            raise InputError("a hub publishes and does not subscribe: run an edge as a proxy of its own")
        self._key = read_key(settings.key)
        self._settings = settings
        self._link = ChannelLink(url, "bestbefore-hub")
        self._publishers: dict[str, Publisher] = {}

    async def start(self) -> None:
        """Begin to publish."""
        logger.info("publishing on the channel %s", self._link.connection.shown)
        await self._link.start(self._publish)

    async def close(self) -> None:
        """Stop publishing."""
        await self._link.close()

    def note_contact(self, url: str) -> None:
        """Let the publishers look at an object again."""
        for publisher in self._publishers.values():
            publisher.note_contact(url)

    async def _publish(self) -> None:
        self._publishers = {}
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    for site in (await sites(self._link.connection))[:MOST_SITES]:
                        if site not in self._publishers:
                            self._publishers[site] = self._publisher(site)
                            group.create_task(_run(self._publishers[site]))
                    await asyncio.sleep(SITES_INTERVAL_S)
        except* Exception as errors:
            error: BaseException = errors
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            first = error
        else:
            return
        raise first

    def _publisher(self, site: str) -> Publisher:
        service = self._service
        return Publisher(
            SiteChannel(self._link.connection, site),
            service.site.name,
            self._key,
            self._settings,
            service.clock,
            service.store,
            service.site.max_cached_body,
            service.metrics.hub,
            lambda: service.config.prefetch.enabled,
        )


async def _run(publisher: Publisher) -> None:
    while True:
        await publisher.run()
