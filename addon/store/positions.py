"""How far the channels of hubs were read, which the store keeps with what was read."""

from bestbefore.addon.store.cache.link import Link


class Positions:
    """The positions by the names of channels."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def get(self, channel: str) -> bytes | None:
        """Return a position as it was put; None if it never was, or the backend is down."""
        return await self._link.read(lambda backend: backend.position(channel))

    async def put(self, channel: str, position: bytes) -> None:
        """Store a position, after what was read has been flushed. Does nothing while the backend is down."""
        await self._link.read(lambda backend: backend.put_position(channel, position))
