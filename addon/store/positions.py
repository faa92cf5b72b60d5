"""How far the channels of hubs were read, which the store keeps with what was read, and other single values."""

import hashlib

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

    async def newer(self, channel: str, known: bytes) -> bytes | None:
        """Return a position that differs from the known one; empty if it was never put. None: it does not, or down."""
        return await self._link.read(lambda backend: backend.position_unless(channel, _digest(known)))

    async def swap(self, channel: str, known: bytes, position: bytes) -> bool | None:
        """Store a position if the one before is as known; return whether it was. None while the backend is down."""
        return await self._link.read(lambda backend: backend.swap_position(channel, _digest(known), position))


def _digest(position: bytes) -> str:
    return hashlib.sha1(position, usedforsecurity=False).hexdigest()
