"""The store that a supervisor opens for the pages of the dashboard."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bestbefore.addon.store.store import Store

KEPT_S = 30.0
"""How long the store stays open after its last use: an open page is brought up to date every few seconds."""


class KeptStore:
    """Opens a store when it is used first, shares it among all who use it, and closes it some time after the last."""

    def __init__(self, open_: Callable[[], Awaitable[Store]], kept_s: float = KEPT_S) -> None:
        self._open = open_
        self._kept_s = kept_s
        self._store: Store | None = None
        self._users = 0
        self._lock = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[Store]:
        """Return the store, open within the context. Raises what `open_` raises; then the next use tries again."""
        self._users += 1
        try:
            if self._closing is not None:
                self._closing.cancel()
                self._closing = None
            async with self._lock:
                store = self._store = self._store or await self._open()
            yield store
        finally:
            self._users -= 1
            if not self._users and self._store is not None:
                self._closing = asyncio.create_task(self._close_later())

    async def close(self) -> None:
        """Write what is pending, and close the store, if it is open."""
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        async with self._lock:
            store, self._store = self._store, None
            if store is not None:
                await store.close()

    async def _close_later(self) -> None:
        await asyncio.sleep(self._kept_s)
        self._closing = None  # from here on it is not cancelled: a closed store is not used again
        await self.close()
