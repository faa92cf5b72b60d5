"""The content of stored copies, of which little is in memory."""

import asyncio

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES, Content
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.store import Store

AT_A_TIME = 2
"""How much large content is read at a time: that of a remote server comes whole."""


class StoredContent:
    """Reads content from the store. What is large and does not come as a file is put into one."""

    def __init__(self, store: Store, budget: Budget) -> None:
        self._store = store
        self._budget = budget
        self._reading = asyncio.Semaphore(AT_A_TIME)

    async def of(self, copy: Copy) -> Body | None:
        """The content of a copy; None if it is gone."""
        if copy.body.size <= MEMORY_BYTES:
            return await self._store.body(copy)
        async with self._reading:
            body = await self._store.body(copy)
            if not isinstance(body, bytes):
                return body
            content = Content(self._budget)
            return content.body() if await content.add(body) else body
